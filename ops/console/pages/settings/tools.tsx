import '@mantine/core/styles/Radio.css';
import { Checkbox, Group, Radio, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useMay } from '../../client/may.ts';
import { signInRead } from '../../client/sign-out.ts';
import { type ApprovalPolicy, approvalPolicyRead, setApprovalPolicy } from '../../client/tool-approvals.ts';
import { useSettings } from '../../settings/draft.ts';
import { Section, SettingsForm } from '../../settings/form.tsx';
import { Copy } from '../../ui/copy.tsx';
import { PageTitle } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';

const policies: Record<ApprovalPolicy['policy'], { label: string; description: string }> = {
  none: { label: 'None', description: 'Clients of MCP call what their credential permits' },
  destructive: { label: 'Those that may destroy something', description: 'Deletions, overwriting, raw SQL' },
  changes: { label: 'All that change something or send it away', description: 'Only what reads is done at once' },
};

/** Which calls of tools over MCP wait for a person. */
export function ToolSettingsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/settings/tools' });
  const { data: policy, error, refetch } = useQuery(approvalPolicyRead(tenantID));
  return (
    <>
      <PageTitle title="Tool approvals" />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!policy && !error && <Skeleton h={240} />}
      <Stack key={tenantID} maw={720}>
        <ConnectApp tenantID={tenantID} />
        {policy && <Policy tenantID={tenantID} policy={{ policy: policy.policy, byAnother: policy.byAnother }} />}
      </Stack>
    </>
  );
}

/** The address that an AI client is given. */
function ConnectApp({ tenantID }: { tenantID: string }) {
  const { data: signIn } = useQuery(signInRead);
  if (!signIn?.mcpURL) return null;
  const address = `${signIn.mcpURL}/tenants/${tenantID}/mcp`;
  return (
    <Section title="Connect an AI client">
      <Stack gap="xs">
        <Text size="sm">
          Add this address to Claude, Cursor, VS Code, ChatGPT or another client of MCP, and sign in. You see there what
          it may do before it may do anything.
        </Text>
        <Group gap="xs">
          <code className="breaks">{address}</code>
          <Copy value={address} of="the address" />
        </Group>
        {signIn.isBuiltIn && (
          <Text size="sm">
            <a href={`${signIn.issuer}/account`}>Your connected apps</a> can be disconnected at any time.
          </Text>
        )}
      </Stack>
    </Section>
  );
}

function Policy({ tenantID, policy }: { tenantID: string; policy: ApprovalPolicy }) {
  const mayChange = useMay()('tenant.update');
  const { draft, set, ...form } = useSettings({
    saved: policy,
    queryKey: ['approval-policy', tenantID],
    async send(change) {
      await setApprovalPolicy(tenantID, change);
      return change;
    },
  });
  return (
    <SettingsForm title="Approvals" mayChange={mayChange} {...form}>
      <Text size="sm">
        AI clients use what the API can do as tools, over MCP. A call that waits is told to the members whose role lets
        them decide on calls of tools, and stands in their inbox for a day. Requests to the REST API never wait.
      </Text>
      <Radio.Group
        label="Calls over MCP that wait for a person"
        value={draft.policy}
        onChange={(chosen) => set({ policy: chosen as ApprovalPolicy['policy'] })}
      >
        <Stack gap="xs" mt="xs">
          {Object.entries(policies).map(([value, words]) => (
            <Radio key={value} value={value} disabled={!mayChange} {...words} />
          ))}
        </Stack>
      </Radio.Group>
      <Checkbox
        label="Another person must approve"
        description="Callers may not approve their own calls"
        disabled={!mayChange}
        checked={draft.byAnother}
        onChange={({ currentTarget: { checked } }) => set({ byAnother: checked })}
      />
    </SettingsForm>
  );
}
