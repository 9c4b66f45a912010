import { AppError } from '#shared/errors.ts';

interface Owner {
  callerID: string;
  tenantID: string;
}

/** Rejects another stream of a caller, or of a tenant, who have as many open as they may have in this process. */
export function requireStreamRoom(
  open: readonly Owner[],
  { callerID, tenantID }: Owner,
  { ofCaller, ofTenant }: { ofCaller: number; ofTenant: number },
): void {
  const own = open.filter((stream) => stream.callerID === callerID).length;
  if (own >= ofCaller) throw tooMany(`You have ${own} streams open, and may have ${ofCaller}`);
  const all = open.filter((stream) => stream.tenantID === tenantID).length;
  if (all >= ofTenant)
    throw tooMany(`The users and keys of this tenant have ${all} streams open, and may have ${ofTenant}`);
}

function tooMany(message: string): AppError {
  return new AppError('RATE_LIMITED', message, { retryAfter: 5, reason: 'streams' });
}
