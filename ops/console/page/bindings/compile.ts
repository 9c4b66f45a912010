import { compileTemplate } from '#shared/workflow/templates/expressions.ts';
import { type Argument, type Name, namesOf, type Part, type Path, partOf } from './expression.ts';
import { filters, textOf } from './filters.ts';
import { follow } from './follow.ts';

/** A JSON value whose texts may hold expressions. */
export interface Compiled {
  /** The names that it reads, each once. */
  readonly names: readonly Name[];
  /** Its pieces of code, each once. They are evaluated somewhere else, before the value is built. */
  readonly code: readonly Code[];
  readonly node: Node;
}

export interface Code {
  source: string;
  names: readonly Name[];
}

type Node =
  | { kind: 'fixed'; value: unknown }
  | { kind: 'text'; parts: readonly (string | Part)[]; isWhole: boolean }
  | { kind: 'list'; items: readonly Node[] }
  | { kind: 'object'; entries: readonly (readonly [string, Node])[] };

/** Something wrong with an expression. */
export interface Fault {
  /** As it stands between the braces, cut if it is long. */
  source: string;
  message: string;
}

export interface Built {
  value: unknown;
  faults: readonly Fault[];
}

export interface Outcome extends Built {
  /** Code is still evaluated: the value is that of before. */
  isPending: boolean;
}

/** How expressions get their values. Both may throw, with words for the person who reads the page. */
export interface Reader {
  name(name: Name): unknown;
  code(source: string): unknown;
}

export function compile(json: unknown): Compiled {
  const parts: Part[] = [];
  const node = orTooDeep(() => nodeOf(json, parts));
  const code = parts
    .filter(({ kind }) => kind === 'code')
    .map((part) => ({ source: part.source, names: once(namesOf(part)) }));
  return {
    names: once(parts.flatMap(namesOf)),
    code: [...new Map(code.map((one) => [one.source, one])).values()],
    node,
  };
}

/** A value that a request of a megabyte can nest deeper than the stack of a browser. */
function orTooDeep(read: () => Node): Node {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { kind: 'text', parts: [{ kind: 'fault', source: '…', message: 'is nested too deeply' }], isWhole: true };
  }
}

function once(names: readonly Name[]): Name[] {
  return [...new Map(names.map((name) => [`${name.root} ${name.key ?? ''}`, name])).values()];
}

/** Whether a value has no expression. */
export function isFixed({ node }: Compiled): boolean {
  return node.kind === 'fixed';
}

function nodeOf(json: unknown, parts: Part[]): Node {
  if (typeof json === 'string') return textNode(json, parts);
  if (typeof json !== 'object' || json === null) return { kind: 'fixed', value: json };
  if (Array.isArray(json)) {
    const items = json.map((item) => nodeOf(item, parts));
    return items.every(({ kind }) => kind === 'fixed') ? { kind: 'fixed', value: json } : { kind: 'list', items };
  }
  const entries = Object.entries(json).map(([key, value]) => [key, nodeOf(value, parts)] as const);
  return entries.every(([, { kind }]) => kind === 'fixed')
    ? { kind: 'fixed', value: json }
    : { kind: 'object', entries };
}

function textNode(text: string, found: Part[]): Node {
  const template = compileTemplate(text);
  if (!template) return { kind: 'fixed', value: text };
  const parts = template.parts.map((part) => (typeof part === 'string' ? part : partOf(part)));
  found.push(...parts.filter((part) => typeof part === 'object'));
  return { kind: 'text', parts, isWhole: template.whole !== null };
}

/** The value, with nothing in the place of what could not be read, and the reasons for that. */
export function build({ node }: Compiled, reader: Reader): Built {
  const faults: Fault[] = [];
  return { value: valueAt(node, reader, faults), faults };
}

function valueAt(node: Node, reader: Reader, faults: Fault[]): unknown {
  switch (node.kind) {
    case 'fixed':
      return node.value;
    case 'list':
      return node.items.map((item) => valueAt(item, reader, faults));
    case 'object':
      return Object.fromEntries(node.entries.map(([key, value]) => [key, valueAt(value, reader, faults)]));
    case 'text': {
      const [first] = node.parts;
      if (node.isWhole && typeof first === 'object') return partValue(first, reader, faults);
      return node.parts
        .map((part) => (typeof part === 'string' ? part : textOf(partValue(part, reader, faults))))
        .join('');
    }
  }
}

const MAX_SHOWN = 80;

function partValue(part: Part, reader: Reader, faults: Fault[]): unknown {
  try {
    if (part.kind === 'path') return filteredValue(part, reader);
    if (part.kind === 'code') return reader.code(part.source);
    throw new Error(part.message);
  } catch (error) {
    const { source } = part;
    const shown = source.length > MAX_SHOWN ? `${source.slice(0, MAX_SHOWN)}…` : source;
    faults.push({ source: shown, message: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}

function filteredValue({ path, filters: calls }: Extract<Part, { kind: 'path' }>, reader: Reader): unknown {
  return calls.reduce(
    (value, { name, args }) => {
      const filter = filters[name];
      try {
        return filter?.(value, ...args.map((arg) => argumentValue(arg, reader)));
      } catch (error) {
        throw new Error(`the filter ${name} ${error instanceof Error ? error.message : String(error)}`);
      }
    },
    pathValue(path, reader),
  );
}

function argumentValue(argument: Argument, reader: Reader): unknown {
  return 'path' in argument ? pathValue(argument.path, reader) : argument.value;
}

function pathValue({ root, keys: [first, ...others] }: Path, reader: Reader): unknown {
  return follow(reader.name({ root, key: first === undefined ? null : String(first) }), others);
}
