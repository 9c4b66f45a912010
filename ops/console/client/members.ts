import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMay } from './may.ts';
import { body, rest } from './rest.ts';

/** The addresses of members by their ids. */
export function membersRead(tenantID: string) {
  return queryOptions({
    queryKey: ['member-names', tenantID],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { pageSize: 100 } };
      const { users } = await body(rest.GET('/api/v1/tenants/{tenantID}/users', { params }));
      return new Map(users.flatMap(({ userID, email }) => (userID === null ? [] : [[userID, email ?? userID]])));
    },
    staleTime: 60_000,
  });
}

/** The address of a member. Callers who may not list members see the end of the id. */
export function useMemberNames(tenantID: string): (userID: string) => string {
  const may = useMay();
  const { data } = useQuery({ ...membersRead(tenantID), enabled: may('user.list') });
  return (userID) => data?.get(userID) ?? userID.slice(-8);
}
