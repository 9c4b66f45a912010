import type { z } from 'zod';

/** Contract of a listener type, which has the name of the datasource type that it listens to. */
export interface ListenerDefinition<Type extends string = string, Config extends z.ZodType = z.ZodType> {
  readonly type: Type;
  readonly label: string;
  /** Schema of `listenerConfig`. Credentials belong to the datasource. */
  readonly config: Config;
  /** Whether events come to an address of this service, which `endpointPath` names. */
  readonly hasEndpoint: boolean;
  /** Initial values for an editor. */
  readonly defaults: z.input<Config>;
}

export function defineListener<const Type extends string, Config extends z.ZodType>(
  definition: ListenerDefinition<Type, Config>,
): ListenerDefinition<Type, Config> {
  return definition;
}
