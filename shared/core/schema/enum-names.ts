import { z } from 'zod';

/**
 * A choice of texts that have names for people. The JSON schema shows the names as `x-enumNames`, in the order of `enum`, by which a form
 * offers them.
 */
export function namedEnum<const Names extends Readonly<Record<string, string>>>(names: Names) {
  // Safe: keys of objects are texts, and there is at least one.
  const values = Object.keys(names) as [keyof Names & string, ...(keyof Names & string)[]];
  return z.enum(values).meta({ 'x-enumNames': Object.values(names) });
}
