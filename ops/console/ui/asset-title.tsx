import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { type PickedType, reasonOf, referenceRead, sourceOf } from '../client/references.ts';

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

/** Leads to the page of something in another tab, so that what is typed here stays. */
export function OpenLink({ type, id }: { type: PickedType; id: string }) {
  const tenantID = useTenantID();
  const page = pages[type]?.(id);
  if (page === undefined) return null;
  return (
    <a className="link" href={`/console/t/${tenantID}/${page}`} target="_blank" rel="noopener opener">
      Open the {sourceOf[type].noun}
    </a>
  );
}

/** Leads to the list in which something new can be made. */
export function ListLink({ type }: { type: PickedType }) {
  const tenantID = useTenantID();
  const [page] = pages[type]?.('').split(/[/?](?!accounts)/) ?? [];
  if (page === undefined) return null;
  return (
    <a className="link" href={`/console/t/${tenantID}/${page}`} target="_blank" rel="noopener opener">
      New {sourceOf[type].noun}, in another tab
    </a>
  );
}

/** The title of something that a page only names, with the way to it. */
export function AssetTitle({ type, id }: { type: PickedType; id: string }) {
  const tenantID = useTenantID();
  const { data, error } = useQuery(referenceRead(tenantID, type, id));
  const page = pages[type]?.(id);
  if (!data)
    return (
      <>
        <code className="breaks">{id}</code>
        {error && ` (${missing[reasonOf(error) ?? 'unknown']})`}
      </>
    );
  if (page === undefined) return <bdi>{data.title}</bdi>;
  return (
    <a className="link" href={`/console/t/${tenantID}/${page}`} target="_blank" rel="noopener opener">
      <bdi>{data.title}</bdi>
    </a>
  );
}

const missing = { gone: 'deleted', hidden: 'you may not see it', unknown: 'its title could not be read' } as const;
