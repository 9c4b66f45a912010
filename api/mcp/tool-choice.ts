import { AppError } from '#shared/core/errors.ts';
import { commonTools, defaultTools, toolsets } from '../tools/lists.ts';
import type { Tool, ToolRegistry } from '../tools/registry.ts';

/** The part of the tools that a client wants listed, by `?tools=` of its address. Every tool can be called by name all the same. */
export type ToolChoice =
  | { kind: 'default' }
  /** Every tool with the schema of its answer, for programs; answers are those of REST. */
  | { kind: 'all' }
  /** A search and a call alone. */
  | { kind: 'grouped' }
  | { kind: 'some'; words: readonly string[] };

const MAX_WORDS = 100;

export function readChoice(tools: unknown): ToolChoice {
  if (tools === undefined || tools === '' || tools === 'default') return { kind: 'default' };
  if (tools === 'all' || tools === 'grouped') return { kind: tools };
  const words = [tools].flat().flatMap((word) => String(word).split(','));
  return {
    kind: 'some',
    words: words
      .map((word) => word.trim())
      .filter((word) => word !== '')
      .slice(0, MAX_WORDS),
  };
}

/** Refuses a word that is neither a toolset nor a tool. */
export function requireKnown(choice: ToolChoice, { tools }: ToolRegistry): void {
  if (choice.kind !== 'some') return;
  const unknown = choice.words.find((word) => !lists.has(word) && !Object.hasOwn(toolsets, word) && !tools.has(word));
  if (unknown === undefined) return;
  const sets = Object.keys(toolsets).join(', ');
  throw new AppError(
    'VALIDATION_ERROR',
    `tools: expected all, grouped, default, offered, names of tools, or some of ${sets}, received ${JSON.stringify(unknown.slice(0, 100))}`,
  );
}

/** Words that are no toolset: the default list, and the workflows and queries that their owners offer. */
const lists: ReadonlySet<string> = new Set(['default', 'offered']);

export function listsOffered(choice: ToolChoice): boolean {
  if (choice.kind === 'some') return choice.words.some((word) => lists.has(word));
  return choice.kind === 'default';
}

/** Whether the list of a choice has a tool, if its caller may call it. */
export function isListed(choice: ToolChoice, tool: Tool): boolean {
  if (choice.kind === 'all') return true;
  if (choice.kind === 'grouped') return false;
  if (choice.kind === 'default') return defaultTools.includes(tool.name);
  const { words } = choice;
  return (
    words.includes(tool.name) ||
    commonTools.includes(tool.name) ||
    (words.includes('default') && defaultTools.includes(tool.name)) ||
    words.some((word) => Object.hasOwn(toolsets, word) && toolsets[word]?.has(tool) === true)
  );
}

/** The tools of the list that a caller may call, in its order. */
export function listedOf(choice: ToolChoice, allowed: readonly Tool[]): Tool[] {
  const listed = allowed.filter((tool) => isListed(choice, tool));
  if (choice.kind !== 'default') return listed;
  return listed.sort((one, other) => defaultTools.indexOf(one.name) - defaultTools.indexOf(other.name));
}
