import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';

/** Whom a stream counts for. */
export interface StreamOwner {
  callerID: string;
  /** The acting user: of an API key its creator. */
  userID: string;
  tenantID: string;
}

/** Streams that may be open at once in this process. */
export interface StreamCapacity {
  ofCaller: number;
  /** Without it, the keys and members of one tenant could take the memory and the reads of a process from all others. */
  ofTenant: number;
  /** Without it, a user could do that with many tenants of their own. */
  ofUser: number;
}

export function streamOwner({ id: callerID, userID = callerID }: Caller, tenantID: string): StreamOwner {
  return { callerID, userID, tenantID };
}

/** Rejects another stream of a caller, tenant or user who have as many open as they may have. */
export function requireStreamCapacity(open: readonly StreamOwner[], of: StreamOwner, capacity: StreamCapacity): void {
  const count = (field: keyof StreamOwner) => open.filter((stream) => stream[field] === of[field]).length;
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
