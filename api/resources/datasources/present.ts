import type { z } from 'zod';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Datasource as DatasourceEntity } from '#shared/entities/tables/datasource.ts';
import { maskOptions, unreadableOptions } from './options.ts';
import type { Datasource } from './schemas.ts';

export function presentDatasource(datasource: DatasourceEntity, secrets: KeyRing): z.input<typeof Datasource> {
  const { id, tenantID, datasourceTitle, datasourceType, datasourceTags, connectionStatus, creatorID } = datasource;
  return {
    id,
    datasourceID: id,
    tenantID,
    datasourceTitle,
    datasourceDescription: datasource.datasourceDescription ?? null,
    datasourceType,
    datasourceOptions: maskOptions(datasource),
    unreadableSecrets: unreadableOptions(secrets, datasource),
    datasourceTags,
    connectionStatus,
    testedAt: datasource.testedAt?.toISOString() ?? null,
    folderID: datasource.folderID ?? null,
    creatorID,
    createdByApiKeyID: datasource.createdByApiKeyID ?? null,
    createdAt: datasource.createdAt.toISOString(),
    updatedAt: datasource.updatedAt.toISOString(),
  };
}
