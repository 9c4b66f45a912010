import type { Permission } from '../../access/policy/permissions.ts';
import type { Json } from '../../core/json.ts';

/** How a node's config uses the assets that one of its fields names. */
export interface Naming {
  /** The permission that is needed. Its resource is the type of the asset. */
  readonly permission: Permission;
  /**
   * The person who needs the permission if the id is in the saved graph. `author`: only the person who saves it, because the right to
   * execute the workflow includes what its author put there. `caller`: the caller of every run as well.
   * An id that a template makes has no author: the caller needs the permission in both cases.
   */
  readonly neededBy: 'author' | 'caller';
}

/**
 * Paths of the fields that hold ids of assets, which are those called `…ID` and `…IDs`: `dataQueryID`, `calls.*.workflowID`,
 * `dataQueryIDs.*`. A `*` is each element of a list. Free-form JSON has none.
 */
export type NamingPath<T> = unknown extends T
  ? never
  : [Json] extends [T]
    ? never
    : T extends readonly (infer Item)[]
      ? `*.${NamingPath<Item>}`
      : T extends object
        ? { [Key in keyof T & string]-?: OwnPath<Key> | `${Key}.${NamingPath<NonNullable<T[Key]>>}` }[keyof T & string]
        : never;

type OwnPath<Key extends string> = string extends Key
  ? never
  : Key extends `${string}ID`
    ? Key
    : Key extends `${string}IDs`
      ? `${Key}.*`
      : never;
