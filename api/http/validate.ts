import type { z } from 'zod';
import { AppError } from '#shared/errors.ts';
import type { Parsed } from './route.ts';
import { findUnstorable } from './storable.ts';

/** Where a value came from, and what says whether it will do. */
interface Check {
  part: keyof Parsed<z.ZodType, z.ZodType, z.ZodType>;
  schema: z.ZodType | undefined;
  value: unknown;
}

const maxIssues = 50;

/** The values as their schemas want them, in order, or one VALIDATION_ERROR that names every place. */
export function validate(checks: readonly Check[]): unknown[] {
  const issues: { path: (string | number)[]; message: string; type: string }[] = [];
  const values = checks.map(({ part, schema, value }) => {
    if (!schema) return undefined;
    const unstorable = findUnstorable(value);
    if (unstorable) {
      issues.push({ ...unstorable, path: unstorable.path.length > 0 ? unstorable.path : [part], type: 'custom' });
      return undefined;
    }
    const result = refuseTooDeep(() => schema.safeParse(value));
    if (result.success) return result.data;
    for (const { path, message, code } of result.error.issues)
      issues.push({ path: path.length > 0 ? path.map(asKey) : [part], message, type: code ?? 'custom' });
    return undefined;
  });
  if (issues.length === 0) return values;

  const shown = issues.slice(0, maxIssues);
  const message = shown.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  throw new AppError('VALIDATION_ERROR', message, { details: { issues: shown } });
}

/** For what calls itself once for each level of a value: however deep a body is, it must not look like a fault of ours. */
export function refuseTooDeep<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new AppError('VALIDATION_ERROR', 'body: is nested too deeply', { cause: error });
  }
}

function asKey(key: PropertyKey): string | number {
  return typeof key === 'symbol' ? String(key) : key;
}
