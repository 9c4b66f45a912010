import { expect, test } from 'vitest';
import { requireStreamCapacity, streamOwner } from '#api/streams/stream-capacity.ts';
import type { Caller } from '#shared/core/caller.ts';
import { newID } from '#shared/core/ids.ts';

const room = { ofCaller: 2, ofTenant: 3, ofUser: 4 };

function aUser(): Caller {
  return { type: 'user', id: newID(), origin: 'direct' };
}

function aKeyOf({ id: userID }: Caller): Caller {
  return { type: 'apiKey', id: newID(), userID, origin: 'direct' };
}

/** The refusal of the last of these streams, each of a caller in a tenant; null if all of them have room. */
function refusalOf(streams: [caller: Caller, tenantID: string][]): string | null {
  const owners = streams.map(([caller, tenantID]) => streamOwner(caller, tenantID));
  try {
    for (const [nth, owner] of owners.entries()) requireStreamCapacity(owners.slice(0, nth), owner, room);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

test('a caller, a tenant, and a user with their keys in all tenants have so many streams', () => {
  const [one, other, tenantID] = [aUser(), aUser(), newID()];

  const ofCaller = refusalOf([1, 2, 3].map(() => [one, newID()]));
  const ofTenant = refusalOf([1, 2, 3, 4].map(() => [aUser(), tenantID]));
  const ofUser = refusalOf([1, 2, 3, 4, 5].map(() => [aKeyOf(one), newID()]));
  const ofTwo = refusalOf([one, one, other, other, aKeyOf(one), aKeyOf(other)].map((who) => [who, newID()]));

  expect([ofCaller, ofTenant, ofUser, ofTwo]).toEqual([
    'You have 2 streams open, and may have 2',
    'The users and keys of this tenant have 3 streams open, and may have 3',
    'You and your keys have 4 streams open in all tenants, and may have 4',
    null,
  ]);
});
