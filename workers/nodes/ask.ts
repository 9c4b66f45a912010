import type { JsonObject } from '#shared/json.ts';
import type { Park } from './executor.ts';

interface Asking {
  title?: string | undefined;
  description?: string | undefined;
  approvers?: string | readonly string[] | undefined;
  expiryMinutes: number;
}

/** Parks until a person answers. The request holds what the person is shown, and who may answer. */
export function ask({ title, description, approvers, expiryMinutes }: Asking, request: object): Park {
  const shown = { title, description, ...request, expiryMinutes, approvers: approvers && namesIn(approvers) };
  return {
    park: 'input',
    // Zero means for ever.
    expiresInMs: expiryMinutes === 0 ? null : expiryMinutes * 60_000,
    // Without the keys that are undefined.
    request: JSON.parse(JSON.stringify(shown)) as JsonObject,
  };
}

function namesIn(approvers: string | readonly string[]): string[] {
  const names = typeof approvers === 'string' ? approvers.split(',') : approvers;
  return names.map((name) => name.trim().toLowerCase()).filter((name) => name !== '');
}
