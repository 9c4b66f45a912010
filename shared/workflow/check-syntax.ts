import { Script } from 'node:vm';
import type { Snippet } from './nodes/define-node.ts';

/**
 * Says why code does not parse: `line 2, column 9: Unexpected token ';'`, by the lines of the text itself. `argument` is the name
 * of its parameter. Nothing of the code is run: V8 only compiles it.
 */
export function codeFault({ text, form }: Pick<Snippet, 'text' | 'form'>, argument = 'ctx'): string | undefined {
  const { around, otherwise } = forms[form](argument);
  const lines = text.split(lineBreak);
  const end = `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
  const fault = compileFault(text, around);
  // Code that parses between `around` but not between `otherwise` has closed the brackets of `around` itself.
  if (!fault) return compileFault(text, otherwise) && `${end}: ${UNBALANCED}`;
  const { line, column, message } = fault;
  if (line === undefined) return message;
  // The fault is behind the code: something in the code is not closed.
  if (line > lines.length) return `${end}: ${UNBALANCED}`;
  return `line ${line}${column === undefined ? '' : `, column ${column}`}: ${message}`;
}

/** The two texts that are compiled before and after the code, on lines of their own. */
interface Form {
  around: readonly [string, string];
  /** The same with other brackets. Code that closes the brackets of `around` itself does not fit these as well, and so is found. */
  otherwise: readonly [string, string];
}

const forms: Readonly<Record<Snippet['form'], (argument: string) => Form>> = {
  body: (argument) => ({
    around: [`(async function (${argument}) {`, '})'],
    otherwise: [`[async function (${argument}) {`, '}]'],
  }),
  expression: (argument) => ({
    around: [`(async function (${argument}) { return Boolean((`, ')) })'],
    otherwise: [`(async function (${argument}) { return [`, '] })'],
  }),
};

const lineBreak = /\r\n|[\n\r\u2028\u2029]/;
const UNBALANCED = 'unexpected end: a bracket, quote or comment is not closed, or a bracket is closed that is not open';

interface Fault {
  line?: number;
  column?: number | undefined;
  message: string;
}

function compileFault(text: string, [before, after]: Form['around']): Fault | undefined {
  try {
    new Script(`${before}\n${text}\n${after}`, { filename: FILE, lineOffset: -1 });
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return { message: 'is nested too deeply' };
    if (!(error instanceof SyntaxError)) throw error;
    // The stack begins with the place, the line and a mark below the column, unless the line is very long.
    const [place = '', , mark = ''] = (error.stack ?? '').split('\n');
    const line = Number(place.slice(FILE.length + 1));
    const column = /^\s*\^/.test(mark) ? mark.indexOf('^') + 1 : undefined;
    return { line, column, message: error.message };
  }
}

const FILE = 'code.js';
