import type { z } from 'zod';
import { AppError } from '../errors.ts';

export interface Issue {
  path: (string | number)[];
  message: string;
  /** As zod names it; `custom` for checks outside of schemas. */
  type?: string;
}

/** Makes one VALIDATION_ERROR of all issues, in the form of all validation errors. */
export function invalid(issues: readonly Issue[]): AppError {
  const message = issues.map((issue) =>
    issue.path.length ? `${issue.path.join('.')}: ${issue.message}` : issue.message,
  );
  return new AppError('VALIDATION_ERROR', message.join('; '), {
    details: { issues: issues.map((issue) => ({ ...issue, type: issue.type ?? 'custom' })) },
  });
}

export function fromZod(error: z.ZodError): Issue[] {
  return error.issues.map((issue) => ({
    path: issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key)),
    message: issue.message,
    type: issue.code ?? 'custom',
  }));
}

/** Prefixes the paths of issues. */
export function within(prefix: readonly (string | number)[], issues: readonly Issue[]): Issue[] {
  return issues.map((issue) => ({ ...issue, path: [...prefix, ...issue.path] }));
}
