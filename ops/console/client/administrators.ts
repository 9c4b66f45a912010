import { queryOptions } from '@tanstack/react-query';
import { readMembers } from './members.ts';

/** The addresses of the administrators, who may do everything and give permissions. */
export function administratorsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['member-names', tenantID, 'administrators'],
    queryFn: async () => {
      const members = await readMembers(tenantID);
      return members.flatMap(({ isTenantAdmin, isDisabled, email }) =>
        isTenantAdmin && !isDisabled && email ? [email] : [],
      );
    },
    staleTime: 60_000,
  });
}
