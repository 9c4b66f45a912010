import { queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const CALL = '/api/v1/tenants/{tenantID}/tool-approvals/{toolCallID}';
const POLICY = '/api/v1/tenants/{tenantID}/tool-approval-policy';

export type ToolCall = Schemas['ToolApproval'];
export type ApprovalPolicy = Schemas['ToolApprovalPolicy'];

export interface CallIDs {
  tenantID: string;
  toolCallID: string;
}

export function toolCallRead(path: CallIDs) {
  return queryOptions({
    queryKey: ['tool-calls', path.tenantID, 'one', path.toolCallID],
    queryFn: async () => (await body(rest.GET(CALL, { params: { path } }))).toolApproval,
    refetchInterval: every((data) => (data?.endedAt ? false : 2_000)),
  });
}

export async function approveCall(path: CallIDs): Promise<void> {
  await body(rest.POST(`${CALL}/approve`, { params: { path } }));
}

export async function refuseCall(path: CallIDs, reason: string): Promise<void> {
  await body(rest.POST(`${CALL}/refuse`, { params: { path }, body: reason === '' ? {} : { reason } }));
}

export function approvalPolicyRead(tenantID: string) {
  return queryOptions({
    queryKey: ['approval-policy', tenantID],
    queryFn: (): Promise<ApprovalPolicy> => body(rest.GET(POLICY, { params: { path: { tenantID } } })),
  });
}

export async function setApprovalPolicy(tenantID: string, policy: ApprovalPolicy): Promise<void> {
  await body(rest.PUT(POLICY, { params: { path: { tenantID } }, body: policy }));
}
