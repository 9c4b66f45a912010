import { isJsonObject, type Json } from '../../core/json.ts';
import { quote } from '../../core/quote.ts';
import type { Issue } from '../../core/schema/issues.ts';
import type { AnyNode } from '../nodes/index.ts';
import { LINKS_ROOT } from '../nodes/links-root.ts';
import { expressionsOf, hasBraces } from '../templates/expressions.ts';
import { textsOf } from '../templates/templates.ts';

/** A link in a template of a node: the node whose question the link answers, and the path of the template's field. */
export interface LinkUse {
  readonly nodeID: string;
  readonly path: readonly (string | number)[];
}

/** The links in the templates of a saved node. */
export function linkUses({ links = [], raw = [], filled = [] }: AnyNode, data: Json): readonly LinkUse[] {
  if (links.length === 0) return NONE;
  const unfilled = raw.filter((field) => !(filled as readonly string[]).includes(field));
  const used = textsOf(data, unfilled, hasBraces).flatMap(({ path, template }) =>
    [...expressionsOf(template)].flatMap(({ root, keys, fault }) =>
      root === LINKS_ROOT && fault === null ? [{ nodeID: String(keys[0] ?? ''), path }] : [],
    ),
  );
  return used.length > 0 ? used : NONE;
}

const NONE: readonly LinkUse[] = [];

interface Linked {
  readonly id: string;
  readonly config: unknown;
  readonly links: readonly LinkUse[];
  readonly definition: AnyNode | undefined;
}

/** Yields what is wrong with the links of a node: `find` returns the node with an id, if it lies in the same body. */
export function* linkIssues(
  { links, definition }: Linked,
  find: (nodeID: string) => Pick<Linked, 'config'> | undefined,
): Generator<Issue> {
  const fields: readonly string[] = definition?.links ?? [];
  for (const { nodeID, path } of links) {
    const at = ['data', ...path];
    const target = find(nodeID);
    if (!fields.includes(String(path[0])))
      yield { path: at, message: `a link cannot be used here, but in ${fields.join(', ')}` };
    else if (!target) yield { path: at, message: `there is no node ${quote(nodeID)} in the same body` };
    else if (!isJsonObject(target.config) || target.config.answerByLink !== true)
      yield { path: at, message: `the node ${quote(nodeID)} does not take answers by link` };
  }
}
