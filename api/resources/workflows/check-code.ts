import { Script } from 'node:vm';
import { isJsonObject } from '#shared/json.ts';
import type { NodeDefinition, Snippet } from '#shared/nodes/define-node.ts';
import { readFormSchema } from '#shared/workflow/form-schema.ts';
import type { Graph } from '#shared/workflow/graph.ts';
import type { Issue } from '#shared/workflow/issues.ts';

/**
 * Finds the code and the expressions of nodes that do not parse, and forms whose answers cannot be checked. Nothing of the code is run:
 * V8 only compiles it. Yields where it may pause.
 */
export function* codeIssues({ nodes }: Graph): Generator<void, Issue[]> {
  const issues: Issue[] = [];
  for (const { index, definition, config } of nodes) {
    for (const snippet of definition.snippets?.(config) ?? []) {
      const message = faultOf(snippet);
      if (message !== undefined) issues.push({ path: ['workflowNodes', index, 'data', ...snippet.path], message });
      yield;
    }
    for (const { path, message } of formIssues(definition, config))
      issues.push({ path: ['workflowNodes', index, 'data', ...path], message });
  }
  return issues;
}

function formIssues({ forms = [] }: NodeDefinition, config: unknown): Issue[] {
  return forms.flatMap((field) => {
    const form = isJsonObject(config) ? config[field] : undefined;
    const read = isJsonObject(form) ? readFormSchema(form) : undefined;
    return read && 'message' in read ? [{ path: [field, ...read.path], message: read.message }] : [];
  });
}

/** Begins and ends what the sandbox compiles around a text. A line break follows the one and precedes the other. */
interface Form {
  around: readonly [string, string];
  /** Closes by other brackets, which a text that closes those of the first cannot close as well. */
  otherwise: readonly [string, string];
}

const forms: Readonly<Record<Snippet['form'], Form>> = {
  body: { around: ['(async function (ctx) {', '})'], otherwise: ['[async function (ctx) {', '}]'] },
  expression: {
    around: ['(async function (ctx) { return Boolean((', ')) })'],
    otherwise: ['(async function (ctx) { return [', '] })'],
  },
};

/** `line 2, column 9: Unexpected token ';'`, by the lines of the text itself. */
function faultOf({ text, form }: Snippet): string | undefined {
  const { around, otherwise } = forms[form];
  const lines = text.split(lineBreak);
  const end = `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
  const fault = compileFault(text, around);
  if (!fault) return compileFault(text, otherwise) && `${end}: ${UNBALANCED}`;
  const { line, column, message } = fault;
  if (line === undefined) return message;
  if (line > lines.length) return `${end}: ${UNBALANCED}`;
  return `line ${line}${column === undefined ? '' : `, column ${column}`}: ${message}`;
}

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
