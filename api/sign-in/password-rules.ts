import { readFileSync } from 'node:fs';

/** NIST SP 800-63B-4: at least 15 characters where a password may be the only factor, at least 64 must be allowed, and no rules of composition. */
export const MIN_PASSWORD_LENGTH = 15;
export const MAX_PASSWORD_LENGTH = 1024;

/** The owner's address must not be a great part of a password: attackers know it. */
interface About {
  email: string;
}

/** Why a password is refused, as a sentence; undefined for one that may be used. */
export function passwordProblem(password: string, { email }: About): string | undefined {
  const text = password.normalize('NFKC');
  // Counted in code points, as the standard says.
  const length = [...text].length;
  if (length < MIN_PASSWORD_LENGTH)
    return `The password must have at least ${MIN_PASSWORD_LENGTH} characters. Several words in a row are easy to remember`;
  if (length > MAX_PASSWORD_LENGTH) return `The password must have at most ${MAX_PASSWORD_LENGTH} characters`;
  if (/[\p{Cc}]/u.test(text)) return 'The password must be one line without control characters';
  if (isCommon(text.toLowerCase())) return 'The password is one that many people use. Choose another one';
  if (isAboutAccount(text.toLowerCase(), email))
    return 'The password consists of the e-mail address and little else. Choose another one';
  return undefined;
}

let common: ReadonlySet<string> | undefined;

/** The most common passwords of published breaches (list of zxcvbn, MIT), read when it is first needed. */
function commonPasswords(): ReadonlySet<string> {
  common ??= new Set(
    readFileSync(new URL('./common-passwords.txt', import.meta.url), 'utf8')
      .trim()
      .split('\n'),
  );
  return common;
}

/** Long passwords that people choose are short ones with digits around them, repeated, or rows of a keyboard. */
function isCommon(text: string): boolean {
  const letters = unitOf(text.replace(/[^\p{L}]+/gu, ''));
  const unit = unitOf(text);
  const known = commonPasswords();
  return known.has(text) || known.has(letters) || known.has(unit) || unit.length <= 4 || isRow(text);
}

/** The shortest text whose repetition begins with the whole: `abc` for `abcabcab`. */
function unitOf(text: string): string {
  const length = Array.from(text).findIndex((_, index) => index > 0 && text.slice(index) === text.slice(0, -index));
  return length > 0 ? text.slice(0, length) : text;
}

const ROWS = ['abcdefghijklmnopqrstuvwxyz', '01234567890', 'qwertyuiopasdfghjklzxcvbnm', 'qwertzuiopasdfghjklyxcvbnm'];

/** Whether nearly every character is the neighbour of the one before, in the alphabet, among digits or on a keyboard. */
function isRow(text: string): boolean {
  const pairs = Array.from(text.slice(1), (character, index) => (text[index] ?? '') + character);
  const neighbours = pairs.filter((pair) => {
    const back = `${pair[1]}${pair[0]}`;
    return pair[0] === pair[1] || ROWS.some((row) => row.includes(pair) || row.includes(back));
  });
  return neighbours.length >= pairs.length - 2;
}

function isAboutAccount(text: string, email: string): boolean {
  const parts = [email.toLowerCase(), ...email.toLowerCase().split(/[^\p{L}\d]+/u), 'gantry'].filter(
    (part) => part.length >= 4,
  );
  const rest = parts.toSorted((a, b) => b.length - a.length).reduce((left, part) => left.replaceAll(part, ''), text);
  return rest.length < text.length && rest.replace(/[^\p{L}\d]+/gu, '').length < 8;
}
