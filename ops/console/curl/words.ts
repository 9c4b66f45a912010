/** Characters that a backslash stands before in `$'…'`. */
const ESCAPED: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '0': '\0',
};

/**
 * Words of a command, as a POSIX shell splits them: quotes, backslashes, continued lines, and the `$'…'` that browsers write.
 * Variables and patterns stay as they are typed.
 */
export function shellWords(command: string): string[] {
  const text = command.replace(/\\\r?\n|\^\r?\n/g, ' ');
  const words: string[] = [];
  let word: string | undefined;
  for (const [part] of text.matchAll(PARTS)) {
    if (/^\s/.test(part)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + plainOf(part);
  }
  return word === undefined ? words : [...words, word];
}

const PARTS = /\s+|\$'(?:[^'\\]|\\[\s\S])*'|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s'"\\$]+|[\s\S]/g;

/** A part of a word without its quotes. A quote that is not closed is a character. */
function plainOf(part: string): string {
  if (part.length > 2 && part.startsWith("$'")) return part.slice(2, -1).replace(ANSI, unescaped);
  if (part.length > 1 && part.startsWith("'")) return part.slice(1, -1);
  if (part.length > 1 && part.startsWith('"')) return part.slice(1, -1).replace(/\\(["\\$`])/g, '$1');
  return part.length > 1 && part.startsWith('\\') ? part.slice(1) : part;
}

const ANSI = /\\(?:u([\da-f]{1,4})|x([\da-f]{1,2})|([\s\S]))/gi;

function unescaped(_all: string, unicode?: string, byte?: string, letter = ''): string {
  const code = unicode ?? byte;
  return code === undefined ? (ESCAPED[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16));
}
