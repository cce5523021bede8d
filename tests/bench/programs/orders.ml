(* SPDX-License-Identifier: GPL-3.0-or-later *)
(* orders_ml COUNT: so many orders from values to JSON and back, by a printer and a parser of its
   own. *)

type json =
  | Null
  | Bool of bool
  | Number of float
  | Text of string
  | List of json list
  | Object of (string * json) list

exception Bad of int

let escape buffer text =
  Buffer.add_char buffer '"';
  String.iter
    (function
      | '"' -> Buffer.add_string buffer "\\\""
      | '\\' -> Buffer.add_string buffer "\\\\"
      | '\n' -> Buffer.add_string buffer "\\n"
      | c -> Buffer.add_char buffer c)
    text;
  Buffer.add_char buffer '"'

let rec print buffer = function
  | Null -> Buffer.add_string buffer "null"
  | Bool b -> Buffer.add_string buffer (string_of_bool b)
  | Number n -> Buffer.add_string buffer (Printf.sprintf "%.12g" n)
  | Text t -> escape buffer t
  | List items ->
      Buffer.add_char buffer '[';
      List.iteri (fun i one -> separate buffer i; print buffer one) items;
      Buffer.add_char buffer ']'
  | Object fields ->
      Buffer.add_char buffer '{';
      List.iteri
        (fun i (name, one) ->
          separate buffer i;
          escape buffer name;
          Buffer.add_char buffer ':';
          print buffer one)
        fields;
      Buffer.add_char buffer '}'

and separate buffer i = if i > 0 then Buffer.add_char buffer ','

let parse text =
  let at = ref 0 in
  let peek () = if !at < String.length text then text.[!at] else raise (Bad !at) in
  let next () = let c = peek () in incr at; c in
  let expect c = if next () <> c then raise (Bad !at) in
  let word w value = String.iter expect w; value in
  let string () =
    let buffer = Buffer.create 16 in
    expect '"';
    let rec go () =
      match next () with
      | '"' -> Buffer.contents buffer
      | '\\' -> (match next () with 'n' -> Buffer.add_char buffer '\n' | c -> Buffer.add_char buffer c); go ()
      | c -> Buffer.add_char buffer c; go ()
    in
    go ()
  in
  let number () =
    let from = !at in
    while !at < String.length text && String.contains "+-.eE0123456789" text.[!at] do incr at done;
    match float_of_string_opt (String.sub text from (!at - from)) with
    | Some n -> n
    | None -> raise (Bad from)
  in
  let rec many : 'a. char -> (unit -> 'a) -> 'a list -> 'a list = fun last one found ->
    let found = one () :: found in
    match next () with
    | ',' -> many last one found
    | c -> if c = last then List.rev found else raise (Bad !at)
  in
  let rec value () =
    match peek () with
    | 'n' -> word "null" Null
    | 't' -> word "true" (Bool true)
    | 'f' -> word "false" (Bool false)
    | '"' -> Text (string ())
    | '[' -> incr at; List (many ']' value [])
    | '{' -> incr at; Object (many '}' field [])
    | _ -> Number (number ())
  and field () =
    let name = string () in
    expect ':';
    (name, value ())
  in
  value ()

let order number =
  let item i =
    Object
      [ ("name", Text ("item \"" ^ string_of_int i ^ "\""));
        ("count", Number (float_of_int (i + 1)));
        ("price", Number (float_of_int (number mod 1000) /. 8.)) ]
  in
  Object
    [ ("number", Number (float_of_int number));
      ("buyer", Text ("buyer " ^ string_of_int (number mod 97)));
      ("items", List (List.init (2 + (number mod 4)) item));
      ("paid", Bool (number mod 3 = 0));
      ("note", Null) ]

let rec total = function
  | Object fields ->
      let get name = match List.assoc_opt name fields with Some (Number n) -> n | _ -> 0. in
      (get "count" *. get "price") +. List.fold_left (fun sum (_, one) -> sum +. total one) 0. fields
  | List items -> List.fold_left (fun sum one -> sum +. total one) 0. items
  | _ -> 0.

let () =
  let count = int_of_string Sys.argv.(1) and sum = ref 0. and bad = ref 0 in
  let buffer = Buffer.create 256 in
  for number = 0 to count - 1 do
    Buffer.clear buffer;
    print buffer (order number);
    let text = Buffer.contents buffer in
    let text = if number mod 50 = 0 then String.sub text 0 (String.length text - 1) else text in
    match parse text with
    | back -> sum := !sum +. total back
    | exception Bad _ -> incr bad
  done;
  Printf.printf "%.2f %d\n" !sum !bad
