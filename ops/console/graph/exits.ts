import {
  elseExitByConfig,
  exitOfHandle,
  exitsByConfig,
  mayExpire,
  type NamedExits,
  neededExits,
} from '#shared/workflow/nodes/exits.ts';
import type { Kind, Kinds } from './kinds.ts';
import type { ShownEdge, ShownStep } from './shown.ts';

type Config = Readonly<Record<string, unknown>>;

/** An exit of a step, and its name on the canvas. */
export interface Exit {
  id: string;
  name: string;
}

/** The exits of a step with this config, that of errors last. A config that cannot be read has those of a new step. */
export function exitsOf(kind: Kind | undefined, data: Config): Exit[] {
  if (!kind) return [{ id: 'output', name: '' }];
  const ids = [...new Set(namedBy(kind, data) ?? kind.exits)];
  const ordered = [...ids.filter((id) => id !== 'error'), ...ids.filter((id) => id === 'error')];
  return ordered.map((id) => ({ id, name: nameOfExit(id, kind, data) }));
}

/** Those by which a step is left that has not failed, without that to its body. */
export function onwardExits(kind: Kind | undefined, data: Config): Exit[] {
  return exitsOf(kind, data).filter(({ id }) => id !== 'error' && id !== kind?.bodyExit);
}

function namedBy({ nodeType }: Kind, data: Config): readonly string[] | undefined {
  if (!isNaming(nodeType)) return undefined;
  // The function of the kind reads what it has to find; what is no text it gives back as it is.
  const exits = exitsByConfig[nodeType] as (config: unknown) => readonly unknown[];
  try {
    const found = exits(data);
    return found.every((exit): exit is string => typeof exit === 'string' && exit !== '') ? found : undefined;
  } catch {
    return undefined;
  }
}

function isNaming(type: string): type is keyof typeof exitsByConfig {
  return Object.hasOwn(exitsByConfig, type);
}

/** The exit that an edge leaves by, as the API reads its handle; undefined where the API refuses it. */
export function exitOfEdge(kind: Kind | undefined, data: Config, handle: string | null): string | undefined {
  if (!kind) return handle ?? 'output';
  return exitOfHandle(namedExits(kind, data), handle);
}

function namedExits(kind: Kind, data: Config): NamedExits {
  const { nodeType, usualExit, exitAliases } = kind;
  const hasElse = Object.hasOwn(elseExitByConfig, nodeType);
  const elseOf = hasElse ? elseExitByConfig[nodeType as keyof typeof elseExitByConfig] : undefined;
  return {
    exits: new Set(exitsOf(kind, data).map(({ id }) => id)),
    usualExit: hasElse ? undefined : (usualExit ?? undefined),
    elseExit: elseOf?.(data as { defaultBranch?: string }),
    exitAliases,
  };
}

/** The name of the exit of a step that has no other but that of errors. */
export const NEXT = 'next';

const words: Readonly<Record<string, string>> = {
  error: 'on error',
  completed: 'when all are done',
  default: 'otherwise',
  output: NEXT,
  success: NEXT,
  expired: 'not in time',
};

function nameOfExit(id: string, kind: Kind, data: Config): string {
  if (id === kind.bodyExit) return 'for each item';
  if (id === data.timeoutHandle) return 'no answer in time';
  if (id === data.defaultBranch) return 'otherwise';
  return titleIn(data, id) ?? words[id] ?? id;
}

/** The label of a branch or a case with this id. */
function titleIn({ branches, cases }: Config, id: string): string | undefined {
  const lists: unknown[] = [branches, cases].flatMap((list) => (Array.isArray(list) ? list : []));
  const own = lists.find((one) => typeof one === 'object' && one !== null && Reflect.get(one, 'id') === id);
  if (!own) return undefined;
  const named = ['label', 'name'].map((key) => Reflect.get(own, key));
  return named.find((name): name is string => typeof name === 'string' && name !== '');
}

export interface ShownExit extends Exit {
  isConnected: boolean;
  /** The config has no exit of this name, and the API refuses its edges. */
  isRefused?: boolean;
  /** A run that leaves by it fails, since it leads nowhere. */
  isFailing?: boolean;
  /** It leads back to the step that repeats this one, and its edge is not drawn. */
  isReturn?: boolean;
}

/** The exits that need an edge, and by which a step with this config may be left. */
function needed({ type, data }: ShownStep): readonly string[] {
  // A disabled step is left by its usual exit.
  if (data.isDisabled === true || !isNeeding(type)) return [];
  const exits = neededExits[type];
  if (typeof exits !== 'function') return exits.filter((exit) => exit !== 'expired' || mayExpire(data));
  const { timeoutHandle, expiryMinutes } = data;
  return typeof timeoutHandle === 'string' && mayExpire({ expiryMinutes }) ? exits({ timeoutHandle }) : [];
}

function isNeeding(type: string): type is keyof typeof neededExits {
  return Object.hasOwn(neededExits, type);
}

/** The exits of a step, those that its edges alone name among them. */
export function shownExits(step: ShownStep, edges: readonly ShownEdge[], kinds: Kinds): ShownExit[] {
  const { type, data } = step;
  const kind = kinds[type];
  const inNeed = needed(step);
  const used = new Map(edges.map(({ sourceHandle }) => [sourceHandle, exitOfEdge(kind, data, sourceHandle)]));
  const connected = new Set(used.values());
  const own = exitsOf(kind, data).map((exit): ShownExit => {
    const isConnected = connected.has(exit.id);
    return { ...exit, isConnected, ...(!isConnected && inNeed.includes(exit.id) && { isFailing: true }) };
  });
  const ids = new Set(own.map(({ id }) => id));
  const others = [...used].flatMap(([handle, exit]): ShownExit[] => {
    const id = exit ?? handle ?? 'output';
    if (ids.has(id)) return [];
    ids.add(id);
    return [{ id, name: id, isConnected: true, isRefused: true }];
  });
  return [...own, ...others];
}

/** The exits of a card beside those of its box. */
export function splitExits(
  exits: readonly ShownExit[],
  bodyExit: string | null | undefined,
): { card: ShownExit[]; box: ShownExit[] } {
  const { card = [], box = [] } = Object.groupBy(exits, ({ id }) => (id === bodyExit ? 'card' : 'box'));
  return { card, box };
}

/** Where the handle of an exit is, as a part of the side of its card: that of errors is in the corner, so that others may lead straight on. */
export function partOfSide(exits: readonly Pick<Exit, 'id'>[], index: number): number {
  const isError = ({ id }: Pick<Exit, 'id'>) => id === 'error';
  const onward = exits.filter((exit) => !isError(exit)).length;
  if (exits[index]?.id === 'error') return onward === 0 ? 0.5 : CORNER;
  const order = exits.slice(0, index).filter((exit) => !isError(exit)).length;
  const share = (order + 0.5) / onward;
  return onward > 1 && exits.some(isError) ? share * (CORNER - 0.06) : share;
}

const CORNER = 0.9;
