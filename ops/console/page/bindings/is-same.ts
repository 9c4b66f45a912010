/** Parts of values that are compared; larger ones count as different unless they are the same object. */
const MAX_PARTS = 5_000;

/** Whether two values have the same content, as far as that can be seen without long work. */
export function isSame(one: unknown, other: unknown): boolean {
  const left: [unknown, unknown][] = [[one, other]];
  let parts = 0;
  for (let pair = left.pop(); pair; pair = left.pop()) {
    if (Object.is(...pair)) continue;
    const below = partsOf(...pair);
    parts += below?.length ?? 0;
    if (!below || parts > MAX_PARTS) return false;
    for (const one of below) left.push(one);
  }
  return true;
}

/** The parts of two objects, in pairs; undefined if they have others or are none. */
function partsOf(one: unknown, other: unknown): [unknown, unknown][] | undefined {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return undefined;
  const keys = Object.keys(one);
  const isAlike = Array.isArray(one) === Array.isArray(other) && keys.length === Object.keys(other).length;
  if (!isAlike || keys.length > MAX_PARTS || !keys.every((key) => Object.hasOwn(other, key))) return undefined;
  return keys.map((key) => [Reflect.get(one, key), Reflect.get(other, key)]);
}
