import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useMay } from '../client/may.ts';
import { dataQueriesRead } from '../client/queries-of-tenant.ts';
import { referencesRead } from '../client/references.ts';
import { workflowListRead } from '../client/workflows.ts';
import { isID, namesIn } from '../ui/picked.ts';
import type { Named } from './summary.ts';

/** Titles of the queries, workflows, roles and members that steps name by id, of the first page of each: an unknown id would be refused. */
export function useNamed(tenantID: string, nodes: readonly { data: Readonly<Record<string, unknown>> }[]): Named {
  const may = useMay();
  const hasNames = (field: string) => nodes.some(({ data }) => typeof data[field] === 'string');
  const queries = useQuery({
    ...dataQueriesRead(tenantID, {}),
    enabled: may('dataquery.list') && hasNames('dataQueryID'),
    staleTime: 30_000,
  });
  const workflows = useQuery({
    ...workflowListRead(tenantID, {}),
    enabled: may('workflow.list') && hasNames('childWorkflowID'),
    staleTime: 30_000,
  });
  const hasApprovers = nodes.some(({ data }) => namesIn(data.approvers).some(isID));
  const roles = useQuery({
    ...referencesRead(tenantID, 'role', ''),
    enabled: may('role.list') && hasApprovers,
    staleTime: 30_000,
  });
  const members = useQuery({
    ...referencesRead(tenantID, 'user', ''),
    enabled: may('user.list') && hasApprovers,
    staleTime: 30_000,
  });
  return useMemo(() => {
    const ofQueries = (queries.data?.rows ?? []).map(({ dataQueryID, dataQueryTitle: title, dataQueryOptions }) => {
      const { query } = dataQueryOptions as { query?: unknown };
      return [dataQueryID, { title, text: typeof query === 'string' ? query : undefined }] as const;
    });
    const ofWorkflows = (workflows.data?.rows ?? []).map(({ id, title }) => [id, { title }] as const);
    const people = [...(roles.data ?? []), ...(members.data ?? [])].map(({ id, title }) => [id, { title }] as const);
    return new Map([...ofQueries, ...ofWorkflows, ...people]);
  }, [queries.data, workflows.data, roles.data, members.data]);
}
