import type { z } from 'zod';
import type { Permission } from '../../access/policy/permissions.ts';
import type { Naming, NamingPath } from './names.ts';

/** A property that is the same for every node of a kind, or follows from a node's config. */
export type PerConfig<T, Config extends z.ZodType> = T | ((config: z.output<Config>) => T);

/**
 * The properties of a node kind, without its behaviour. Code outside the kind's contract and executor asks for these properties and never
 * for the name of a kind, so that a new kind is two files and two lines of tables.
 */
export interface NodeDefinition<
  Kind extends string = string,
  Config extends z.ZodType = z.ZodType,
  Exit extends string = string,
  Names extends object = object,
  Ends extends boolean = boolean,
> {
  readonly kind: Kind;
  readonly label: string;
  readonly config: Config;
  /**
   * The assets that a config names by id: for each field called `…ID` or `…IDs`, at any depth, the permission that is needed
   * and the person who needs it. Routes that save or start a graph check it, the engine checks it again before the executor.
   */
  readonly names: Names;
  /** Permissions, for all objects of their type, that a person needs to save or test a graph with such a node. */
  readonly authorNeeds?: readonly Permission[];
  /** The field with the names of tools that the node may call: its author has to be allowed to use them. */
  readonly tools?: FieldOf<Config>;
  /**
   * The handles a node may leave by: a list if they are the same for every node of the kind (the compiler then refuses other names
   * in its executor), a function if the config names them.
   */
  readonly exits: readonly Exit[] | ((config: z.output<Config>) => readonly string[]);
  /**
   * The exit by which a disabled node is left, and a failed one if the run goes on and no edge leaves its `error` exit. If it is the
   * same for every node of the kind, an edge without a handle belongs to it. Null if there is none.
   */
  readonly usualExit: PerConfig<NoInfer<Exit> | null, Config>;
  /** The exit that failed nodes are left by in place of the usual exit. */
  readonly failedExit?: NoInfer<Exit>;
  /** Exits that need an edge. A node that would leave by one without an edge fails, and a failed node is not left by it. */
  readonly needsEdge?: readonly NoInfer<Exit>[] | ((config: z.output<Config>) => readonly string[]);
  /** The exit whose edges are taken if the node leaves by an exit without edges other than `error`; editors call it `else`. */
  readonly elseExit?: (config: z.output<Config>) => string;
  /** Leaving by the usual exit takes the edges of all exits but `error`. */
  readonly forks?: true;
  /** Other names of exits, which edges may have. */
  readonly exitAliases?: Readonly<Record<string, NoInfer<Exit>>>;
  /** The exit to the nodes that the node repeats, its body. They run once for each iteration, and no edge leads out of the body. */
  readonly body?: NoInfer<Exit>;
  /** The iterations of the body are runs of their own. */
  readonly chunked?: true;
  /** Runs begin here: a graph has exactly one such node, and no edge leads to it. */
  readonly begins?: true;
  /** A branch ends here: no edge leaves the node, and its output is a part of the run's. */
  readonly ends?: Ends;
  /**
   * Whether the node has no effect, does no I/O and always gives the same outcome for the same config and `ctx`, so that it may
   * be computed again at will. A function answers for one config. It has to return false where a template stands in place of a value.
   */
  readonly pure: PerConfig<boolean, Config>;
  /**
   * Whether the time limit counts from the call of the executor. False for kinds that neither wait nor reach out of the process,
   * and for those whose time the sandbox measures, because code that is queued there has not begun yet.
   */
  readonly clocked: boolean;
  /** The node asks a person, who has `expiryMinutes` to answer, or, if the config has none, the workflow's `humanInLoopTimeout`. */
  readonly asks?: true;
  /** Whether the keys of the node's value become keys of `ctx`, beside the value itself under `outputVariable`. */
  readonly spreads?: (config: z.output<Config>) => boolean;
  /** Fields of the config that are code or evaluated later: templates inside them are left alone. */
  readonly raw?: readonly FieldOf<Config>[];
  /** Raw fields whose templates the executor fills itself. */
  readonly filled?: readonly FieldOf<Config>[];
  /** Fields that may insert secret variables of the tenant. The executor masks them in everything that it returns. */
  readonly secrets?: readonly FieldOf<Config>[];
  /** Fields that may insert links to questions. The executor masks them in everything that it returns. */
  readonly links?: readonly FieldOf<Config>[];
  /** Texts of a saved config that the sandbox compiles: they have to parse. Templates may stand in the other fields. */
  readonly snippets?: (config: unknown) => readonly Snippet[];
  /** Keys of `ctx` that the executor reads beside those in templates and in code, from the config as saved; null if the config does not tell. */
  readonly reads?: (config: unknown) => readonly string[] | null;
  /** Fields that are the JSON Schema of a form. */
  readonly forms?: readonly FieldOf<Config>[];
  /** Fields, or paths into them, that are nearly always a template: a path without braces is refused there. */
  readonly templated?: readonly (FieldOf<Config> | `${FieldOf<Config>}.${string}`)[];
  /** Platform defaults, overridden by `workflowOptions` and by the node. */
  readonly timeoutSeconds: number;
  /** The configuration of a new node in the editor. */
  readonly defaultValue: z.input<Config>;
}

/** JavaScript in a config: the body of a function, or an expression. */
export interface Snippet {
  path: (string | number)[];
  text: string;
  form: 'body' | 'expression';
}

type FieldOf<Config extends z.ZodType> = keyof z.input<Config> & string;

/** Returns the definition of a kind. The compiler infers its types from it. */
export function defineNode<
  const Kind extends string,
  Config extends z.ZodType,
  const Exit extends string,
  const Names extends { readonly [Path in NamingPath<z.input<Config>>]: Naming },
  const Ends extends boolean = false,
>(definition: NodeDefinition<Kind, Config, Exit, Names, Ends>): NodeDefinition<Kind, Config, Exit, Names, Ends> {
  return definition;
}
