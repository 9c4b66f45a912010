import { queryOptions } from '@tanstack/react-query';
import { everyPage } from './every-page.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const TENANT = '/api/v1/tenants/{tenantID}';
const of = (tenantID: string) => ({ params: { path: { tenantID } } });

export function tenantRead(tenantID: string) {
  return queryOptions({
    queryKey: ['settings', tenantID, 'tenant'],
    queryFn: async () => (await body(rest.GET(TENANT, of(tenantID)))).tenant,
  });
}

export async function saveTenant(tenantID: string, change: Schemas['TenantUpdate']): Promise<Schemas['Tenant']> {
  return (await body(rest.PATCH(TENANT, { ...of(tenantID), body: change }))).tenant;
}

export async function uploadLogo(tenantID: string, file: File): Promise<void> {
  const form = new FormData();
  form.append('file', file);
  await body(
    rest.POST(`${TENANT}/upload-logo`, {
      ...of(tenantID),
      body: { file: '' },
      bodySerializer: () => form,
    }),
  );
}

export async function deleteTenant(tenantID: string): Promise<void> {
  await body(rest.DELETE(TENANT, of(tenantID)));
}

export async function setIntake(tenantID: string, verb: 'pause' | 'resume'): Promise<void> {
  await body(rest.POST(`${TENANT}/intake/${verb}` as const, of(tenantID)));
}

export function quotasRead(tenantID: string) {
  return queryOptions({
    queryKey: ['settings', tenantID, 'quotas'],
    queryFn: async () => (await body(rest.GET(`${TENANT}/quotas`, of(tenantID)))).quotas,
  });
}

export function dispatchRead(tenantID: string) {
  return queryOptions({
    queryKey: ['settings', tenantID, 'dispatch'],
    queryFn: async () => (await body(rest.GET(`${TENANT}/dispatch`, of(tenantID)))).dispatch,
  });
}

export async function saveDispatch(tenantID: string, change: Schemas['DispatchUpdate']): Promise<Schemas['Dispatch']> {
  return (await body(rest.PATCH(`${TENANT}/dispatch`, { ...of(tenantID), body: change }))).dispatch;
}

export function runRetentionRead(tenantID: string) {
  return queryOptions({
    queryKey: ['settings', tenantID, 'retention'],
    queryFn: async () => (await body(rest.GET(`${TENANT}/retention`, of(tenantID)))).retention,
  });
}

export async function saveRunRetention(
  tenantID: string,
  change: Schemas['RunRetentionUpdate'],
): Promise<Schemas['RunRetention']> {
  return (await body(rest.PATCH(`${TENANT}/retention`, { ...of(tenantID), body: change }))).retention;
}

export function auditRetentionRead(tenantID: string) {
  return queryOptions({
    queryKey: ['settings', tenantID, 'audit-retention'],
    queryFn: async () => (await body(rest.GET(`${TENANT}/audit/retention`, of(tenantID)))).retention,
  });
}

export async function saveAuditRetention(
  tenantID: string,
  change: Schemas['AuditRetentionUpdate'],
): Promise<Schemas['AuditRetention']> {
  return (await body(rest.PATCH(`${TENANT}/audit/retention`, { ...of(tenantID), body: change }))).retention;
}

export type AIConfig = Schemas['AIConfig'];

export function aiConfigRead(tenantID: string) {
  return queryOptions({
    queryKey: ['settings', tenantID, 'ai'],
    queryFn: async () => (await body(rest.GET(`${TENANT}/ai-config`, of(tenantID)))).aiConfig,
  });
}

export async function saveAIConfig(tenantID: string, change: Schemas['AIConfigChange']): Promise<AIConfig> {
  return (await body(rest.PATCH(`${TENANT}/ai-config`, { ...of(tenantID), body: change }))).aiConfig;
}

export async function deleteAIConfig(tenantID: string): Promise<AIConfig> {
  return (await body(rest.DELETE(`${TENANT}/ai-config`, of(tenantID)))).aiConfig;
}

export function testAIConfig(tenantID: string, config: Schemas['AIConfigTest']) {
  return body(rest.POST(`${TENANT}/ai-config/test`, { ...of(tenantID), body: config }));
}

export function aiUsageRead(tenantID: string) {
  return queryOptions({
    queryKey: ['settings', tenantID, 'ai-usage'],
    queryFn: async () => (await body(rest.GET(`${TENANT}/ai/usage`, of(tenantID)))).usage,
  });
}

const CONNECTIONS = `${TENANT}/oauth-connections` as const;

export function connectedAccountsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['settings', tenantID, 'accounts'],
    queryFn: async () => {
      let providers: readonly string[] = [];
      const accounts = await everyPage(async (query) => {
        const params = { path: { tenantID }, query };
        const answer = await body(rest.GET(CONNECTIONS, { params }));
        providers = answer.providers;
        return { rows: answer.oauthConnections, nextCursor: answer.nextCursor };
      });
      return { accounts, providers };
    },
  });
}

/** The address at the provider. The cookie of the answer binds the flow to this browser. */
export async function connectURL(provider: string, tenantID: string, oauthConnectionID?: string): Promise<string> {
  const params = { path: { provider, tenantID }, query: oauthConnectionID ? { oauthConnectionID } : {} };
  return (await body(rest.GET('/api/v1/oauth/{provider}/{tenantID}/url', { params }))).url;
}

export async function deleteConnectedAccount(path: { tenantID: string; oauthConnectionID: string }): Promise<void> {
  await body(rest.DELETE(`${CONNECTIONS}/{oauthConnectionID}`, { params: { path } }));
}
