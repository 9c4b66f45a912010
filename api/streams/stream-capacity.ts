import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';

/** The caller, user and tenant for whom a stream counts. */
export interface StreamOwner {
  callerID: string;
  /** The acting user: for an API key, its creator. */
  userID: string;
  tenantID: string;
}

/** Limits on the streams that may be open at once in this process. */
export interface StreamCapacity {
  ofCaller: number;
  /** Prevents that the keys and members of one tenant use all memory and reads of a process. */
  ofTenant: number;
  /** Prevents that one user does the same with many tenants. */
  ofUser: number;
}

export function streamOwner({ id: callerID, userID = callerID }: Caller, tenantID: string): StreamOwner {
  return { callerID, userID, tenantID };
}

/** Rejects another stream if its caller, tenant or user has as many open as allowed. */
export function requireStreamCapacity(
  open: readonly StreamOwner[],
  owner: StreamOwner,
  capacity: StreamCapacity,
): void {
  const count = (field: keyof StreamOwner) => open.filter((stream) => stream[field] === owner[field]).length;
  const [own, all, acting] = [count('callerID'), count('tenantID'), count('userID')];
  if (own >= capacity.ofCaller) throw tooMany(`You have ${own} streams open, and may have ${capacity.ofCaller}`);
  if (all >= capacity.ofTenant)
    throw tooMany(`The users and keys of this tenant have ${all} streams open, and may have ${capacity.ofTenant}`);
  if (acting >= capacity.ofUser)
    throw tooMany(`You and your keys have ${acting} streams open in all tenants, and may have ${capacity.ofUser}`);
}

function tooMany(message: string): AppError {
  return new AppError('RATE_LIMITED', message, { retryAfter: 5, reason: 'streams' });
}
