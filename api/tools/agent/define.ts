import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { Schema } from '../../http/openapi/types.ts';
import type { ComposedTool, ToolAnnotations, ToolArguments, ToolResult } from '../tool.ts';

export type Call = (name: string, args: ToolArguments) => Promise<ToolResult>;

/** A tool for a task of an agent, in place of several tools of routes. */
export interface AgentTool {
  name: string;
  title: string;
  group: string;
  /** The tools that it calls. A caller who may call one of them may call this one, which leaves out the others. */
  uses: readonly string[];
  does: string;
  when: string;
  costs: string;
  effect: keyof typeof effects;
  input: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  run(args: ToolArguments, call: Call): Promise<ToolResult>;
}

const effects = {
  reads: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  asks: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  changes: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  runs: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
} as const satisfies Record<string, Omit<ToolAnnotations, 'title'>>;

export function composed(tool: AgentTool, requiredOf: (name: string) => ComposedTool['required']): ComposedTool {
  const { name, title, group, does, when, costs, effect, input, required, run } = tool;
  return {
    name,
    group,
    description: [does, when, `Cost: ${costs}`].join('\n\n'),
    inputSchema: { type: 'object', properties: { ...input }, ...(required && { required: [...required] }) },
    outputSchema: { type: 'object', properties: { success: { type: 'boolean' } } },
    annotations: { title, ...effects[effect] },
    required: tool.uses.flatMap(requiredOf),
    async run(args, call) {
      for (const field of required ?? []) if (args[field] === undefined) throw wrong(field, 'a value');
      for (const field of Object.keys(args))
        if (!Object.hasOwn(input, field)) throw wrong(field, `one of ${Object.keys(input).join(', ')} in its place`);
      return run(args, call);
    },
  };
}

export function wrong(name: string, expected: string): AppError {
  return new AppError('VALIDATION_ERROR', `${name.slice(0, 100)}: expected ${expected}`);
}

export function oneOf<T extends string>(name: string, value: unknown, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found === undefined) throw wrong(name, `one of ${known.join(', ')}`);
  return found;
}

export function text(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw wrong(name, 'a text');
  return value;
}

/** An answer. `next` says which calls may follow. */
export function success(fields: Record<string, unknown>, next: readonly string[] = []): ToolResult {
  return { status: 200, body: { success: true, ...fields, ...(next.length > 0 && { next }) } };
}

export function isRefused({ status }: ToolResult): boolean {
  return status >= 400;
}

/** Some of the fields of an object, without those that are null. */
export function pick(from: unknown, names: readonly string[]): Record<string, unknown> {
  if (!isJsonObject(from)) return {};
  return Object.fromEntries(names.filter((name) => from[name] != null).map((name) => [name, from[name]]));
}

export function rowsOf(body: ToolResult['body'], field: string): Record<string, unknown>[] {
  const rows = body[field];
  return Array.isArray(rows) ? rows : [];
}

/** Arguments that are given, by the names that another tool has for them. */
export function renamed(args: ToolArguments, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(names)
      .filter(([own]) => args[own] !== undefined)
      .map(([own, theirs]) => [theirs, args[own]]),
  );
}

/** An answer whose error names the arguments of this tool in place of those of another. */
export function inOwnNames(answer: ToolResult, names: Readonly<Record<string, string>>): ToolResult {
  const { error } = answer.body;
  if (!isRefused(answer) || !isJsonObject(error)) return answer;
  return { ...answer, body: { ...answer.body, error: JSON.parse(ownNames(JSON.stringify(error), names)) } };
}

/** A text that begins paths with the names of this tool. */
export function ownNames(text: string, names: Readonly<Record<string, string>>): string {
  return Object.entries(names).reduce(
    (all, [own, theirs]) => all.replaceAll(new RegExp(`\\b${theirs}\\b`, 'g'), own),
    text,
  );
}
