/** Whether a path has a parameter `:xID`; true for a path that is not a literal, because it may have one. */
export type NamesOne<Path extends string> = string extends Path
  ? true
  : Path extends `${string}:${infer Rest}`
    ? NameAtStart<Rest> extends `${string}ID`
      ? true
      : NamesOne<Rest>
    : false;

/** The name of a parameter ends where Express ends it: before the first character that is neither a letter nor a digit. */
type NameAtStart<Text extends string> = Text extends `${infer First}${infer Rest}`
  ? First extends NameCharacter
    ? `${First}${NameAtStart<Rest>}`
    : ''
  : '';

type Letter =
  | 'a'
  | 'b'
  | 'c'
  | 'd'
  | 'e'
  | 'f'
  | 'g'
  | 'h'
  | 'i'
  | 'j'
  | 'k'
  | 'l'
  | 'm'
  | 'n'
  | 'o'
  | 'p'
  | 'q'
  | 'r'
  | 's'
  | 't'
  | 'u'
  | 'v'
  | 'w'
  | 'x'
  | 'y'
  | 'z';
type NameCharacter = Letter | Uppercase<Letter> | `${0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9}` | '_' | '$';
