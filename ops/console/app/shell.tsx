import { ActionIcon, AppShell, Badge, Burger, Group, Menu, Select, Text, useMantineColorScheme } from '@mantine/core';
import { useDisclosure, useLocalStorage, useWindowEvent } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate, useParams } from '@tanstack/react-router';
import { Fragment, lazy, Suspense, useEffect } from 'react';
import { type Connection, connectionWords } from '../client/connection.ts';
import { useWaiting } from '../client/inbox.ts';
import { useMay } from '../client/may.ts';
import { tenantsRead } from '../client/reads.ts';
import { useSession } from '../client/session.ts';
import { signInRead, signOut, useSignOutFailure } from '../client/sign-out.ts';
import { useConnection } from '../client/socket.ts';
import { useTenantRoom } from '../client/tenant-room.ts';
import { Commands } from '../shell/commands.tsx';
import { type Page, pages } from '../shell/pages.ts';
import { SchemeSwitch, schemes } from '../shell/scheme.tsx';
import { CreateHere } from '../ui/create-here.ts';
import { Icon } from '../ui/icon.tsx';
import { useUnsavedQuestion } from '../ui/leaving.ts';
import { NewPageContext } from '../ui/new-page-dialog.tsx';
import { Problem } from '../ui/problem.tsx';

const Assistant = lazy(() => import('../assistant/button.tsx').then(({ Assistant: one }) => ({ default: one })));
const OwnPages = lazy(() => import('../shell/own-pages.tsx').then(({ OwnPages: one }) => ({ default: one })));
const Palette = lazy(() => import('./palette.tsx').then(({ Palette: one }) => ({ default: one })));

const NewPage = lazy(() => import('../builder/made/new-page.tsx').then(({ NewPage: one }) => ({ default: one })));

type Dialogs = typeof import('./create-dialogs.tsx');
const dialog = (name: keyof Dialogs) =>
  lazy(() => import('./create-dialogs.tsx').then((all) => ({ default: all[name] })));

/** Dialogs that create what a field names, beside the field. */
const dialogs = {
  workflow: dialog('WorkflowDialog'),
  dataQuery: dialog('QueryDialog'),
  datasource: dialog('DatasourceDialog'),
  role: dialog('RoleDialog'),
  user: dialog('MemberDialog'),
  oauthConnection: dialog('AccountDialog'),
};

/** Header, navigation and the page. */
export function Shell() {
  const session = useSession();
  const navigate = useNavigate();
  const { href, pathname } = useLocation();
  const { tenantID } = useParams({ strict: false });
  const signOutFailure = useSignOutFailure();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const [isFolded, setFolded] = useLocalStorage({ key: 'gantry.folded', defaultValue: false, ...atOnce });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes with each change of the page
  useEffect(() => close(), [pathname, close]);
  useWindowEvent('keydown', ({ key }) => key === 'Escape' && close());
  useEffect(() => {
    // The address is that of the sign-in page before this page is gone.
    if (!session && pathname !== '/sign-in') void navigate({ to: '/sign-in', search: { next: href } });
  }, [session, navigate, href, pathname]);
  if (!session) return null;
  return (
    <>
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <AppShell
        header={{ height: 56 }}
        navbar={{
          width: isFolded ? 56 : 200,
          breakpoint: 'sm',
          collapsed: { mobile: !isOpen, desktop: !tenantID },
        }}
        padding="md"
      >
        <AppShell.Header>
          <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
            <Group gap="xs" wrap="nowrap" flex={1} miw={0}>
              {tenantID && (
                <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
              )}
              <Link to="/" className={tenantID ? 'link wide' : 'link'} aria-label="Gantry, all tenants">
                <Group gap={6} wrap="nowrap">
                  <img src="/favicon.ico" alt="" width={24} height={24} />
                  <Text fw={700} c="var(--mantine-color-text)" className="wide">
                    Gantry
                  </Text>
                </Group>
              </Link>
              {tenantID && <TenantSwitcher tenantID={tenantID} />}
            </Group>
            <Group gap="xs" wrap="nowrap">
              <Live />
              {tenantID && <Waiting tenantID={tenantID} />}
              {tenantID && (
                <Suspense>
                  <Assistant key={tenantID} tenantID={tenantID} />
                </Suspense>
              )}
              <Commands palette={Palette} of="console" />
              <div className="wide">
                <SchemeSwitch />
              </div>
              <UserMenu email={session.email} />
            </Group>
          </Group>
        </AppShell.Header>
        {tenantID && (
          <AppShell.Navbar p="xs" aria-label="Pages" data-folded={isFolded || undefined}>
            <Navigation tenantID={tenantID} />
            <button
              type="button"
              className="nav fold"
              aria-expanded={!isFolded}
              title={isFolded ? 'Show the names of the pages' : undefined}
              onClick={() => setFolded(!isFolded)}
            >
              <Icon name="fold" /> <span>Fold the menu</span>
            </button>
          </AppShell.Navbar>
        )}
        <AppShell.Main id="content" tabIndex={-1}>
          {signOutFailure && <Problem error={signOutFailure} onRetry={() => void signOut()} />}
          <CreateHere value={dialogs}>
            <NewPageContext value={NewPage}>
              <Outlet />
            </NewPageContext>
          </CreateHere>
        </AppShell.Main>
      </AppShell>
      <UnsavedQuestion />
    </>
  );
}

/** The question before a page with unsaved changes is left. */
function UnsavedQuestion() {
  const asked = useUnsavedQuestion();
  return asked && <asked.Dialog save={asked.save} onAnswer={asked.onAnswer} />;
}

/** The stored value is read before the first drawing, so that nothing moves. */
const atOnce = { getInitialValueInEffect: false } as const;

/** The pages that the caller may open. */
function Navigation({ tenantID }: { tenantID: string }) {
  const may = useMay();
  const isViewer = may('appPage.list') && !may('appPage.create') && !may('appPage.update');
  return pages
    .filter(({ needs }: Page) => needs.length === 0 || needs.some(may))
    .map(({ to, icon, title, needs }) => (
      <Fragment key={title}>
        <Link
          className="nav"
          title={title}
          to={to}
          params={{ tenantID }}
          activeOptions={{ includeSearch: false, exact: needs.length === 0 }}
        >
          <Icon name={icon} /> <span>{title}</span>
        </Link>
        {to === '/t/$tenantID/pages' && isViewer && (
          <Suspense>
            <OwnPages tenantID={tenantID} />
          </Suspense>
        )}
      </Fragment>
    ));
}

/** The inbox, with the number of what waits for the caller, if anything does. */
function Waiting({ tenantID }: { tenantID: string }) {
  const count = useWaiting(tenantID);
  useTenantRoom(tenantID);
  if (count === 0) return null;
  return (
    <Link className="waiting" to="/t/$tenantID/inbox" params={{ tenantID }} aria-label={`Inbox, ${count} waiting`}>
      <Icon name="inbox" />
      <Badge size="sm" color="blue.8">
        {count}
      </Badge>
    </Link>
  );
}

/** No id of a tenant. The page of all tenants makes a new one. */
const NEW = 'new';

function TenantSwitcher({ tenantID }: { tenantID: string }) {
  const navigate = useNavigate();
  const { data = [] } = useQuery(tenantsRead);
  return (
    <Select
      aria-label="Tenant"
      size="xs"
      w={200}
      miw={0}
      data={[
        ...data.map((one) => ({ value: one.tenantID, label: one.tenantTitle })),
        { value: NEW, label: 'New tenant …' },
      ]}
      value={tenantID}
      allowDeselect={false}
      searchable
      comboboxProps={{ width: 260, position: 'bottom-start' }}
      onChange={(chosen) => {
        if (chosen === NEW) void navigate({ to: '/' });
        else if (chosen) void navigate({ to: '/t/$tenantID', params: { tenantID: chosen } });
      }}
    />
  );
}

const titles: Record<Connection, string> = {
  connecting: 'Changes are shown once the page is connected',
  live: 'Changes are shown as they happen',
  lost: 'The connection is lost; it is tried again',
};

function Live() {
  const connection = useConnection();
  return (
    <span className="status" data-tone={connection === 'live' ? 'ok' : 'wait'} role="status" title={titles[connection]}>
      <svg width="8" height="8" aria-hidden="true">
        <circle cx="4" cy="4" r="4" fill="currentColor" />
      </svg>
      <span className="status-word">{connectionWords[connection]}</span>
    </span>
  );
}

function UserMenu({ email }: { email: string }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const isOfProvider = useSession()?.renewal.kind === 'provider';
  const { data: signIn } = useQuery({ ...signInRead, enabled: isOfProvider });
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size="lg" radius="xl" aria-label={`Account of ${email}`}>
          <Text size="sm" fw={600}>
            {email.slice(0, 1).toUpperCase()}
          </Text>
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown maw="90vw">
        <Menu.Label className="breaks">{email}</Menu.Label>
        <Menu.Item component={Link} to="/" leftSection={<Icon name="home" />}>
          All tenants
        </Menu.Item>
        {signIn?.isBuiltIn && (
          <Menu.Item component="a" href={`${signIn.issuer}/account`} leftSection={<Icon name="key" />}>
            Sign-in and security
          </Menu.Item>
        )}
        {/* The button of the header has no room on a telephone. */}
        <Menu.Label className="narrow">Colours</Menu.Label>
        {schemes.map(({ scheme, title }) => (
          <Menu.Item
            key={scheme}
            className="narrow"
            fw={scheme === colorScheme ? 700 : 400}
            onClick={() => setColorScheme(scheme)}
          >
            {title}
          </Menu.Item>
        ))}
        <Menu.Item leftSection={<Icon name="out" />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
