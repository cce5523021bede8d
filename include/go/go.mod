module mtrace

go 1.16
