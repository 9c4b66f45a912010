import type { NodeDefinition } from './define-node.ts';
import type { AnyNode } from './index.ts';

/** The handles a node of this kind and config may leave by. */
export function exitsOf(definition: AnyNode, config: unknown): readonly string[] {
  return forConfig(definition.exits, config);
}

/** See `usualExit` of a definition. */
export function usualExitOf(definition: AnyNode, config: unknown): string | null {
  return forConfig<string | null>(definition.usualExit, config);
}

/** The exit by which a failed node is left if the run goes on and no edge leaves its `error` exit. */
export function failedExitOf(definition: AnyNode, config: unknown): string | null {
  const { failedExit }: NodeDefinition = definition;
  return failedExit ?? usualExitOf(definition, config);
}

/** See `needsEdge` of a definition. */
export function needsEdge({ needsEdge: exits = [] }: NodeDefinition, config: unknown, exit: string): boolean {
  return forConfig(exits, config).includes(exit);
}

/** See `elseExit` of a definition; undefined for kinds that have none. */
export function elseExitOf({ elseExit }: AnyNode, config: unknown): string | undefined {
  return elseExit && forConfig(elseExit, config);
}

/** See `spreads` of a definition. */
export function isSpread({ spreads = () => false }: AnyNode, config: unknown): boolean {
  // A saved config may have the text of a template here, which is not `true`.
  return forConfig(spreads, config) === true;
}

/**
 * Whether a node of this kind and config is pure. In a saved config a template may stand anywhere, even in place of a list through which the
 * function of the kind walks, which then throws: such a node is not known to be pure.
 */
export function isPure({ pure }: AnyNode, config: unknown): boolean {
  try {
    return forConfig(pure, config);
  } catch {
    return false;
  }
}

/** A property that a kind states for all its nodes, or computes from the config of each. */
function forConfig<T>(property: T | ((config: never) => T), config: unknown): T {
  // The config was parsed by this definition's own schema, so the correlation the compiler cannot see holds.
  return typeof property === 'function' ? (property as (config: unknown) => T)(config) : property;
}
