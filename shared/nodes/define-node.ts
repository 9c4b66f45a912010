import type { z } from 'zod';

/**
 * What a node kind is, without what it does. `exits` are the handles a node may leave by: an array when they are the same
 * for every node of the kind (another word then does not compile in its executor), a function when the config names them.
 */
export interface NodeDefinition<
  Kind extends string = string,
  Config extends z.ZodType = z.ZodType,
  Exit extends string = string,
> {
  readonly kind: Kind;
  readonly label: string;
  readonly config: Config;
  readonly exits: readonly Exit[] | ((config: z.output<Config>) => readonly string[]);
  /** Fields of the config that are code or evaluated later: templates inside them are left alone. */
  readonly raw?: readonly string[];
  /** Platform defaults, overridden by `workflowOptions` and by the node. */
  readonly timeoutSeconds: number;
  /** What the editor starts a new node with. */
  readonly defaultValue: z.input<Config>;
}

export function defineNode<const Kind extends string, Config extends z.ZodType, const Exit extends string>(
  definition: NodeDefinition<Kind, Config, Exit>,
): NodeDefinition<Kind, Config, Exit> {
  return definition;
}
