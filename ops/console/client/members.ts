import { queryOptions, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { everyPage } from './every-page.ts';
import { useMay } from './may.ts';
import { meRead } from './reads.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

/** The members, as many as a person could look through: those beyond are named by the ends of their ids. */
export function readMembers(tenantID: string): Promise<Schemas['TenantUser'][]> {
  return everyPage(async (query) => {
    const params = { path: { tenantID }, query };
    const { users: rows, nextCursor } = await body(rest.GET('/api/v1/tenants/{tenantID}/users', { params }));
    return { rows, nextCursor };
  });
}

/** The addresses of members by their ids. */
export function membersRead(tenantID: string) {
  return queryOptions({
    queryKey: ['member-names', tenantID],
    queryFn: async () => {
      const members = await readMembers(tenantID);
      return new Map(members.flatMap(({ userID, email }) => (userID === null ? [] : [[userID, email ?? userID]])));
    },
    staleTime: 60_000,
  });
}

interface ReadNames {
  data: ReadonlyMap<string, string> | undefined;
  refetch: () => unknown;
}

/** Ids for which names were read again. What is deleted stays without a name. */
const sought = new Set<string>();

/** Finds names that were read before. One that they lack may be younger, so they are read once more for it. */
function useNames(tenantID: string, { data, refetch }: ReadNames): (id: string) => string | undefined {
  const lacking = new Set<string>();
  useEffect(() => {
    const fresh = [...lacking].filter((one) => !sought.has(one));
    if (fresh.length === 0) return;
    for (const one of fresh) sought.add(one);
    void refetch();
  });
  return (id) => {
    const name = data?.get(id);
    if (data && name === undefined) lacking.add(`${tenantID} ${id}`);
    return name;
  };
}

/** "you", or the address of a member. Callers who may not list members see the end of the id. */
export function useMemberNames(tenantID: string): (userID: string) => string {
  const may = useMay();
  const { data: me } = useQuery(meRead);
  // A colleague who was invited has an id only after signing in.
  const nameOf = useNames(tenantID, useQuery({ ...membersRead(tenantID), enabled: may('user.list') }));
  return (userID) => (userID === me?.userID ? 'you' : (nameOf(userID) ?? `member ${userID.slice(-8)}`));
}

/** Names of API keys by their ids. */
function keyNamesRead(tenantID: string) {
  return queryOptions({
    queryKey: ['api-keys', tenantID, 'names'],
    queryFn: async () => {
      const apiKeys = await everyPage(async (query) => {
        const params = { path: { tenantID }, query };
        const { apiKeys: rows, nextCursor } = await body(rest.GET('/api/v1/tenants/{tenantID}/apikeys', { params }));
        return { rows, nextCursor };
      });
      return new Map(apiKeys.map(({ id, apiKeyName }) => [id, apiKeyName]));
    },
    staleTime: 60_000,
  });
}

/** Who has made something: a person, or an API key of one. Things that are older than the record of this have no author. */
export function useAuthorNames(tenantID: string): (userID: string | null, apiKeyID: string | null) => string {
  const may = useMay();
  const nameOf = useMemberNames(tenantID);
  const keyNameOf = useNames(tenantID, useQuery({ ...keyNamesRead(tenantID), enabled: may('apikey.list') }));
  return (userID, apiKeyID) => {
    const person = userID === null ? 'an author who is not known' : nameOf(userID);
    return apiKeyID === null ? person : `API key ${keyNameOf(apiKeyID) ?? apiKeyID.slice(-8)} of ${person}`;
  };
}
