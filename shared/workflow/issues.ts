import type { z } from 'zod';
import { AppError } from '../errors.ts';

export interface Issue {
  path: (string | number)[];
  message: string;
  /** As zod names it; `custom` for what no schema says. */
  type?: string;
}

/** One VALIDATION_ERROR that names every place, in the form all our validation errors have. */
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

/** The same issues, seen from further out. */
export function within(place: readonly (string | number)[], issues: readonly Issue[]): Issue[] {
  return issues.map((issue) => ({ ...issue, path: [...place, ...issue.path] }));
}
