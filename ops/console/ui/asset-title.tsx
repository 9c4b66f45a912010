import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type PickedType, sourceOf } from '../client/references.ts';

interface Pages {
  /** Absent: none is made in the console. */
  list?: string;
  /** Absent: there is the list alone. */
  one?: (id: string) => string;
}

/** The pages of a type, as parts of addresses behind that of the tenant; undefined where the console has none. */
const pages: Readonly<Partial<Record<PickedType | 'variable', Pages>>> = {
  workflow: { list: 'workflows', one: (id) => `workflows/${id}` },
  dataQuery: { list: 'queries', one: (id) => `queries/${id}` },
  datasource: { list: 'datasources', one: (id) => `datasources/${id}` },
  listener: { list: 'listeners', one: (id) => `listeners/${id}` },
  cronJob: { list: 'cron', one: (id) => `cron/${id}` },
  role: { list: 'roles', one: (id) => `roles?shown=${id}` },
  user: { list: 'members', one: (id) => `members?shown=${id}` },
  variable: { list: 'settings/variables' },
  oauthConnection: { list: 'settings/accounts' },
  appPage: { one: (id) => `pages/${id}` },
  dashboard: { one: (id) => `pages/dashboards/${id}` },
};

export function useTenantID(): string {
  return useParams({ strict: false }).tenantID ?? '';
}

function OtherTab({ page, children }: { page: string; children: ReactNode }) {
  const tenantID = useTenantID();
  return (
    // biome-ignore lint/security/noBlankTarget: a tab has its session from the one that opens it, which is the console too
    <a className="link" href={`/console/t/${tenantID}/${page}`} target="_blank" rel="opener">
      {children}
    </a>
  );
}

interface Asset {
  type: PickedType | 'variable';
  id: string;
}

function pageOf({ type, id }: Asset): string | undefined {
  const { one, list } = pages[type] ?? {};
  return one?.(id) ?? list;
}

/** The name of something, which leads to its page if there is one. */
export function ToAsset({ type, id, title }: Asset & { title: string }) {
  const tenantID = useTenantID();
  const page = pageOf({ type, id });
  const name = <bdi>{title}</bdi>;
  if (page === undefined) return name;
  return (
    <Link className="link" to={`/t/${tenantID}/${page}` as string}>
      {name}
    </Link>
  );
}

/** Leads to the page of something in another tab, so that what is typed here stays. */
export function OpenLink({ type, id }: { type: PickedType; id: string }) {
  const page = pageOf({ type, id });
  if (page === undefined) return null;
  return <OtherTab page={page}>Open the {sourceOf[type].noun}</OtherTab>;
}

/** Leads to the list in which something new can be made. */
export function ListLink({ type }: { type: PickedType }) {
  const page = pages[type]?.list;
  if (page === undefined) return null;
  return <OtherTab page={page}>New {sourceOf[type].noun}, in another tab</OtherTab>;
}
