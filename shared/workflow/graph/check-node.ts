import type { z } from 'zod';
import type { JsonObject } from '../../core/json.ts';
import { quote } from '../../core/quote.ts';
import { firstIssues, type Issue, within } from '../../core/schema/issues.ts';
import { type AnyNode, findNodeKind } from '../nodes/index.ts';
import { LINKS_ROOT } from '../nodes/links-root.ts';
import { exitsOf } from '../nodes/properties.ts';
import { isReservedKey } from '../reserved.ts';
import { faultsOf, hasBraces, isBarePath, shownSource } from '../templates/expressions.ts';
import { isTemplate, parseAround } from '../templates/parse-around.ts';
import { findTemplate, type Text, textsOf } from '../templates/templates.ts';
import { VARIABLES_ROOT } from '../variables.ts';
import { type LinkUse, linkUses } from './link-uses.ts';
import { type VariableUses, variableUses } from './variable-uses.ts';

/** One node, checked by itself. Paths of issues begin inside the node: `type`, or `data` and a field. */
export interface CheckedNode {
  readonly id: string;
  readonly data: JsonObject;
  /** Undefined if the kind is unknown. */
  readonly definition: AnyNode | undefined;
  readonly config: unknown;
  readonly hasTemplates: boolean;
  /** The uses of variables in the node; null if there are none. */
  readonly variables: VariableUses | null;
  /** Links to questions of other nodes, which its templates insert. */
  readonly links: readonly LinkUse[];
  /** Undefined if the exits depend on an invalid config. */
  readonly exits: ReadonlySet<string> | undefined;
  readonly issues: readonly Issue[];
  /** Whether the node was accepted when it was saved, and its config is refused by now. */
  readonly isRefused?: boolean;
}

interface SavedNode {
  id: string;
  type: string;
  data: JsonObject;
}

/**
 * Checks a node by itself. `isAccepted`: it was checked when it was saved, perhaps by a release that refused less, so a refused config is not
 * reported as a fault. Yields where it may pause: data may have a million parts.
 */
export function* checkNode({ id, type, data }: SavedNode, isAccepted = false): Generator<void, CheckedNode> {
  const definition = findNodeKind(type);
  if (!definition) {
    const issues: Issue[] = [{ path: ['type'], message: `unknown node kind ${quote(type)}` }];
    return {
      id,
      data,
      definition,
      config: undefined,
      hasTemplates: false,
      variables: null,
      links: [],
      exits: undefined,
      issues,
    };
  }

  const texts = textsOf(data, definition.raw, mayRefer);
  yield;
  const { config: schema, defaultValue, raw } = definition;
  const parsed = parseAround(schema, data, { defaultValue, raw });
  yield;
  const isWrong = parsed.issues.length > 0;
  const isRefused = isAccepted && isWrong;
  const config = isRefused ? { ...withDefaults(schema, defaultValue), ...data } : parsed.value;
  const { exits, issues: exitIssues } =
    isWrong && !isRefused ? staticExits(definition) : checkExits(definition, config, data);
  const issues = isAccepted
    ? []
    : [
        ...firstIssues(templateIssues(definition, texts)),
        ...firstIssues(bracelessIssues(definition, data, texts)),
        ...fixedIssues(data),
        ...parsed.issues,
        ...exitIssues,
      ];
  // A refused config is treated as one with templates: so it is parsed again, and refused, when the node is executed.
  const hasTemplates = isRefused || texts.some(({ template }) => template);
  yield;
  const variables = variableUses(definition, data);
  const links = linkUses(definition, data);
  const checked = { id, data, definition, config, hasTemplates, variables, links, exits, isRefused };
  return { ...checked, issues: within(['data'], issues) };
}

/** A complete config of a kind with its defaults, for the fields that a refused config lacks. */
function withDefaults(schema: z.ZodType, defaultValue: unknown): object {
  // The default value is the config of a new node in the editor, and valid.
  return schema.parse(defaultValue) as object;
}

/** Whether a text may be a template, or a path that lacks its braces. */
function mayRefer(text: string): boolean {
  return hasBraces(text) || text.startsWith('ctx') || text.startsWith(VARIABLES_ROOT) || /^\s/.test(text);
}

function* templateIssues({ links }: AnyNode, texts: readonly Text[]): Generator<Issue> {
  const roots = ['ctx', VARIABLES_ROOT, ...(links ? [LINKS_ROOT] : [])];
  for (const { path, template } of texts) for (const message of faultsOf(template, ...roots)) yield { path, message };
}

function* bracelessIssues(
  { templated = [], snippets }: AnyNode,
  data: JsonObject,
  texts: readonly Text[],
): Generator<Issue> {
  const fields = templated.map((field) => field.split('.'));
  const isBare = (text: string) => isBarePath(text, 'ctx') || isBarePath(text, VARIABLES_ROOT);
  const bare = texts.filter(({ path, text }) => isBare(text) && fields.some((field) => isWithin(path, field)));
  // In code a path without braces is an expression, and no fault.
  const code = new Set(bare.length > 0 ? snippets?.(data).map(({ path }) => path.join('.')) : []);
  for (const { path, text } of bare)
    if (!code.has(path.join('.'))) yield { path, message: `a path needs braces: write ${shownSource(text.trim())}` };
}

function isWithin(path: readonly (string | number)[], field: readonly string[]): boolean {
  return field.every((key, at) => at < path.length && (key === '*' || key === path[at]));
}

/** Fields that are read from the saved graph before there is a `ctx`. */
const fixed = [
  'isDisabled',
  'joinMode',
  'timeoutSeconds',
  'retryLimit',
  'retryDelaySeconds',
  'retryOn',
  'errorHandling',
];

function fixedIssues(data: JsonObject): Issue[] {
  const issues: Issue[] = fixed
    .filter((field) => isTemplate(data[field]))
    .map((field) => ({ path: [field], message: 'cannot be a template: it is read before the run begins' }));
  const { outputVariable } = data;
  if (typeof outputVariable === 'string' && isReservedKey(outputVariable))
    issues.push({ path: ['outputVariable'], message: `"${outputVariable}" is a reserved name` });
  return issues;
}

interface CheckedExits {
  exits: ReadonlySet<string> | undefined;
  issues: Issue[];
}

function staticExits({ exits }: AnyNode): CheckedExits {
  return { exits: typeof exits === 'function' ? undefined : new Set(exits), issues: [] };
}

function checkExits(definition: AnyNode, config: unknown, data: JsonObject): CheckedExits {
  const exits = findExits(definition, config);
  if (!exits)
    return { exits: undefined, issues: [{ path: [], message: 'the exits of a node cannot depend on a template' }] };

  const seen = new Set<string>();
  const repeated = new Set(exits.filter((exit) => seen.size === seen.add(exit).size));
  const texts = repeated.size > 0 ? textsOf(data, definition.raw) : [];
  const issues = [...repeated].map((exit): Issue => {
    return { path: pathOfExit(exit, texts), message: `two exits are called ${quote(exit)}` };
  });
  return { exits: seen, issues };
}

/** Undefined if a template stands in the place of an exit, or of a value that the function of the exits reads. */
function findExits(definition: AnyNode, config: unknown): readonly string[] | undefined {
  try {
    const exits = exitsOf(definition, config);
    return exits.every((exit) => typeof exit === 'string' && !findTemplate(exit)) ? exits : undefined;
  } catch {
    return undefined;
  }
}

/** Path of the field that names an exit, guessed from the names of fields. */
function pathOfExit(exit: string, texts: readonly Text[]): (string | number)[] {
  return (
    texts.find(({ path, text }) => text === exit && /^id$|(?:Branch|Handle)$/.test(String(path.at(-1))))?.path ?? []
  );
}
