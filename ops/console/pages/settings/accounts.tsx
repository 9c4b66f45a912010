import { Button, Group, Skeleton, Stack } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { connectedAccountsRead, deleteConnectedAccount } from '../../client/settings.ts';
import type { Schemas } from '../../client/types.ts';
import { connectAccount } from '../../settings/connect.ts';
import { Section } from '../../settings/form.tsx';
import { NoProvider, ProviderField } from '../../settings/provider-field.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/empty.tsx';
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
    { head: 'Provider', cell: ({ provider }) => provider.charAt(0).toUpperCase() + provider.slice(1), isWide: true },
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
      head: 'Actions',
      isPinned: true,
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
            {data.accounts.length === 0 ? (
              <Empty>
                No account is connected. An account at another service, such as Google, lets datasources use it in the
                name of the person who connects it, without a password.
              </Empty>
            ) : (
              <Table
                caption="Connected accounts"
                columns={columns}
                rows={data.accounts}
                idOf={({ oauthConnectionID }) => oauthConnectionID}
              />
            )}
          </div>
        )}
        {connect.error && <Problem error={connect.error} />}
        {data && (
          <May permission="datasource.update">
            <Connect
              providers={data.providers}
              isPending={connect.isPending}
              onConnect={(provider) => connect.mutate({ provider })}
            />
          </May>
        )}
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

interface ConnectProps {
  /** The names of those that operators have set up. */
  providers: readonly string[];
  isPending: boolean;
  onConnect: (provider: string) => void;
}

function Connect({ providers, isPending, onConnect }: ConnectProps) {
  const [provider, setProvider] = useState(providers[0]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (provider !== undefined) onConnect(provider);
  };
  if (provider === undefined)
    return (
      <Section title="Connect an account">
        <NoProvider />
      </Section>
    );
  return (
    <Section title="Connect an account">
      <form onSubmit={submit}>
        <Group align="end">
          <ProviderField providers={providers} value={provider} onChange={setProvider} />
          <Button type="submit" variant="default" loading={isPending}>
            Connect
          </Button>
        </Group>
      </form>
    </Section>
  );
}
