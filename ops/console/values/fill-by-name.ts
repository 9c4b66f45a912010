import { expressionText } from './path.ts';
import { partsOf, type Value, type Values } from './value.ts';

/** Fields of one value that are looked through. */
const MAX_PARTS = 500;

/** For each key the expression of the value of that name, if there is one: of the item first, then of inputs and results, and of their fields. */
export function expressionsByName({ groups }: Values, keys: readonly string[]): Record<string, string> {
  const wanted = new Map(keys.map((key) => [plain(key), key]));
  const found: Record<string, string> = {};
  for (const value of groups.flatMap(({ values }) => [...values]).flatMap(withFields)) {
    const key = wanted.get(plain(value.name));
    const text = key === undefined || value.isSecret ? undefined : expressionText(value.path, 'template');
    if (key === undefined || text === undefined || Object.hasOwn(found, key)) continue;
    found[key] = text;
  }
  return found;
}

function withFields(value: Value): Value[] {
  // One item of a list is no better than another.
  if (value.isSecret || Array.isArray(value.sample) || value.shape.type === 'list') return [value];
  return [value, ...partsOf(value).take(MAX_PARTS)];
}

/** `orderID`, `order_id` and `Order id` are the same name. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, '');
}
