import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type PickedType, sourceOf } from '../client/references.ts';

/** The page of something, as a part of the address behind that of its tenant; undefined where the console has none. */
const pages: Readonly<Partial<Record<PickedType, (id: string) => string>>> = {
  workflow: (id) => `workflows/${id}`,
  dataQuery: (id) => `queries/${id}`,
  datasource: (id) => `datasources/${id}`,
  listener: (id) => `listeners/${id}`,
  cronJob: (id) => `cron/${id}`,
  role: (id) => `roles?shown=${id}`,
  user: (id) => `members?shown=${id}`,
  oauthConnection: () => 'settings/accounts',
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

/** Leads to the page of something in another tab, so that what is typed here stays. */
export function OpenLink({ type, id }: { type: PickedType; id: string }) {
  const page = pages[type]?.(id);
  if (page === undefined) return null;
  return <OtherTab page={page}>Open the {sourceOf[type].noun}</OtherTab>;
}

/** Leads to the list in which something new can be made. */
export function ListLink({ type }: { type: PickedType }) {
  const [page] = pages[type]?.('').split(/[/?](?!accounts)/) ?? [];
  if (page === undefined) return null;
  return <OtherTab page={page}>New {sourceOf[type].noun}, in another tab</OtherTab>;
}
