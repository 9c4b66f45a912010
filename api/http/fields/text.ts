import { z } from 'zod';

/** A title or a name: trimmed, and not empty. */
export const Title = z.string().trim().min(1).max(255);

/** The value of a field with two accepted names, or an issue at the contract's name if both are absent. */
export function requireOne<T>(check: z.RefinementCtx, name: string, values: readonly (T | undefined)[]): T {
  const found = values.find((value) => value !== undefined);
  if (found !== undefined) return found;
  check.addIssue({ code: 'custom', path: [name], message: 'is required' });
  return z.NEVER;
}
