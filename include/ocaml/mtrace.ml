(* SPDX-License-Identifier: GPL-3.0-or-later OR MIT *)
(* What a program says of itself on its timeline: mtrace.h for OCaml.  Nothing happens until mtdb
   records: each of these calls a function that does nothing.

     Mtrace.mark "cache flushed";               an instant among the calls
     Mtrace.begin_span "request"; Mtrace.end_span ();
                                                a span, on a track of its thread's own
     Mtrace.span "request" (fun () -> ...)      the same, around a function
     Mtrace.number "queue length" 17.;          a counter
     Mtrace.snapshot "balance is negative"      a snapshot of what came before

   Built with

     ocamlopt mtrace_stubs.c mtrace.ml ...

   A literal of the executable is recorded by its address and shown whole; of other strings the
   first 32 bytes are recorded.  See mtdb(1), MTRACE.H. *)

external mark : string -> unit = "mtrace_ocaml_mark" [@@noalloc]
external begin_span : string -> unit = "mtrace_ocaml_begin" [@@noalloc]

(* Of the span that the thread began last. *)
external end_span : unit -> unit = "mtrace_ocaml_end" [@@noalloc]

external number : string -> (float[@unboxed]) -> unit
  = "mtrace_ocaml_number_byte" "mtrace_ocaml_number"
  [@@noalloc]

external snapshot : string -> unit = "mtrace_ocaml_snapshot" [@@noalloc]

let span name f =
  begin_span name;
  match f () with
  | result ->
      end_span ();
      result
  | exception e ->
      let backtrace = Printexc.get_raw_backtrace () in
      end_span ();
      Printexc.raise_with_backtrace e backtrace
