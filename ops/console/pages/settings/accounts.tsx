import { Button, Group, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { connectedAccountsRead, deleteConnectedAccount } from '../../client/settings.ts';
import type { Schemas } from '../../client/types.ts';
import { connectAccount } from '../../settings/connect.ts';
import { Section } from '../../settings/form.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { May } from '../../ui/may.tsx';
import { PageTitle } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { RowMenu } from '../../ui/row-menu.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';

type Account = Schemas['OAuthConnection'];

/** Accounts at other services that datasources use, without their tokens. */
export function AccountSettingsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/settings/accounts' });
  const queries = useQueryClient();
  const [doomed, setDoomed] = useState<Account>();
  const { data, error, refetch } = useQuery(connectedAccountsRead(tenantID));
  const refresh = () => queries.invalidateQueries({ queryKey: ['settings', tenantID, 'accounts'] });
  const connect = useMutation({
    mutationFn: ({ provider, again }: { provider: string; again?: string }) =>
      connectAccount(provider, tenantID, again),
    onSettled: refresh,
  });
  const columns: Column<Account>[] = [
    {
      head: 'Account',
      cell: ({ name, accountEmail }) => (
        <div className="clip">
          <bdi>{name}</bdi> <bdi className="note">{accountEmail}</bdi>
        </div>
      ),
    },
    { head: 'Provider', cell: ({ provider }) => provider },
    {
      head: 'State',
      cell: ({ status }) => (
        <span className="status" data-tone={status === 'connected' ? 'ok' : 'bad'}>
          {status === 'connected' ? 'Connected' : 'Connect again'}
        </span>
      ),
    },
    { head: 'Renewed', cell: ({ refreshedAt }) => (refreshedAt ? <Ago at={refreshedAt} /> : 'never'), isWide: true },
    {
      head: 'Do',
      cell: (row) => (
        <RowMenu
          of={row.name}
          on={`datasource:${row.oauthConnectionID}`}
          actions={[
            {
              label: 'Connect again',
              permission: 'datasource.update',
              onClick: () => connect.mutate({ provider: row.provider, again: row.oauthConnectionID }),
            },
            { label: 'Delete', permission: 'datasource.delete', onClick: () => setDoomed(row), isDangerous: true },
          ]}
        />
      ),
    },
  ];
  return (
    <>
      <PageTitle title="Accounts" />
      <Stack>
        {error && <Problem error={error} onRetry={() => void refetch()} />}
        {!data && !error && <Skeleton h={120} />}
        {data && (
          <div className="panel scroller">
            {data.length === 0 ? (
              <Text p="xl" ta="center" c="dimmed">
                No account is connected.
              </Text>
            ) : (
              <Table
                caption="Connected accounts"
                columns={columns}
                rows={data}
                idOf={({ oauthConnectionID }) => oauthConnectionID}
              />
            )}
          </div>
        )}
        {connect.error && <Problem error={connect.error} />}
        <May permission="datasource.update">
          <Connect isPending={connect.isPending} onConnect={(provider) => connect.mutate({ provider })} />
        </May>
      </Stack>
      {doomed && (
        <Confirm
          title="Delete the account"
          question={`“${doomed.name}” and its tokens are deleted here. The provider may list it until it is removed there.`}
          verb="Delete"
          onConfirm={async () => {
            await deleteConnectedAccount({ tenantID, oauthConnectionID: doomed.oauthConnectionID });
            await refresh();
          }}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </>
  );
}

function Connect({ isPending, onConnect }: { isPending: boolean; onConnect: (provider: string) => void }) {
  const [provider, setProvider] = useState('google');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onConnect(provider.trim());
  };
  return (
    <Section title="Connect an account">
      <form onSubmit={submit}>
        <Group align="end">
          <TextInput
            label="Provider"
            description="One that operators have set up"
            required
            value={provider}
            onChange={({ currentTarget: { value } }) => setProvider(value)}
          />
          <Button type="submit" variant="default" loading={isPending}>
            Connect
          </Button>
        </Group>
      </form>
    </Section>
  );
}
