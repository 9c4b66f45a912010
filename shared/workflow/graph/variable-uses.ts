import { type AnyNode, findNodeKind } from '../nodes/index.ts';
import { hasBraces } from '../templates/expressions.ts';
import { type Text, textsOf } from '../templates/templates.ts';
import { VARIABLES_ROOT } from '../variables.ts';

/** How a saved node uses the tenant's variables. */
export interface VariableUses {
  /** The variables that templates name, each with the path of the template's field. */
  readonly named: readonly { name: string; path: readonly (string | number)[] }[];
  /** Whether code uses variables: it may read any of them, by names that are known only when it runs. */
  readonly inCode: boolean;
}

/** How a saved node uses variables; null if it uses none. */
export function variableUses(definition: AnyNode, data: unknown): VariableUses | null {
  const inCode = definition.snippets?.(data).some(({ text }) => inText.test(text)) ?? false;
  // Few texts have the word: to find the templates of 200,000 others would take 40 ms.
  const named = templatesOf(definition, data, (text) => text.includes(VARIABLES_ROOT)).flatMap(({ path, template }) =>
    (template?.parts ?? []).flatMap((part) => {
      if (typeof part === 'string' || part.fault !== null || part.root !== VARIABLES_ROOT) return [];
      return [{ name: String(part.keys[0] ?? ''), path }];
    }),
  );
  return inCode || named.length > 0 ? { named, inCode } : null;
}

/** Whether a graph uses variables, for the permission to save it. */
export function usesVariables(nodes: readonly { type: string; data: unknown }[]): boolean {
  return nodes.some(({ type, data }) => {
    const definition = findNodeKind(type);
    return definition !== undefined && variableUses(definition, data) !== null;
  });
}

/** The word `vars` in code. If it is found in a string or a comment only, the variables are read in vain, which does no harm. */
const inText = /(?<![\w$.])vars(?![\w$])/;

/** The texts of a saved node whose templates are filled. */
export function templatesOf(
  { raw = [], filled = [] }: AnyNode,
  data: unknown,
  isWanted: (text: string) => boolean = () => true,
): Text[] {
  const unfilled = raw.filter((field) => !(filled as readonly string[]).includes(field));
  // Data of a node is JSON: it came in a body.
  return textsOf(data as Parameters<typeof textsOf>[0], unfilled, (text) => hasBraces(text) && isWanted(text));
}
