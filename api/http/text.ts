import { z } from 'zod';

/** A title or a name: what is around it is not part of it, and it is not empty. */
export const Title = z.string().trim().min(1).max(255);

/** Of a field that two names are accepted for: the value that is there, or an issue at the name that the contract has. */
export function requireOne<T>(check: z.RefinementCtx, name: string, values: readonly (T | undefined)[]): T {
  const found = values.find((value) => value !== undefined);
  if (found !== undefined) return found;
  check.addIssue({ code: 'custom', path: [name], message: 'is required' });
  return z.NEVER;
}
