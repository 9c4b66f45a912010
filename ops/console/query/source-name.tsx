import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMay } from '../client/may.ts';
import { OWN, OWN_TITLE } from '../client/own-database.ts';
import { referenceRead } from '../client/references.ts';

interface Props {
  tenantID: string;
  datasourceID: string | null;
  type: string;
}

/** The datasource of a query by its title, which leads to it; its type where the caller may not see it. */
export function SourceName({ tenantID, datasourceID, type }: Props) {
  const mayRead = useMay(`datasource:${datasourceID ?? '*'}`)('datasource.read');
  const { data } = useQuery({
    ...referenceRead(tenantID, 'datasource', datasourceID ?? ''),
    enabled: datasourceID !== null && mayRead,
  });
  if (datasourceID === null) return <>{type === OWN ? OWN_TITLE : type}</>;
  if (!data) return <>{type}</>;
  return (
    <Link className="link" to="/t/$tenantID/datasources/$datasourceID" params={{ tenantID, datasourceID }}>
      <bdi>{data.title}</bdi>
    </Link>
  );
}
