import { CloseButton, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode, useState } from 'react';
import { typeWords } from '../bundle/words.ts';
import { forgetInstalled, type Installed, installedWith } from '../client/installed.ts';
import { Notice } from '../ui/notice.tsx';

interface Props {
  tenantID: string;
  workflowID: string;
}

/** Says what a template has brought beside this workflow, until it is closed. */
export function WhatWasInstalled({ tenantID, workflowID }: Props) {
  const [installed, setInstalled] = useState(() => installedWith(workflowID));
  if (!installed) return null;
  const { template, assets, tables } = installed;
  const others = [
    ...assets
      .filter(({ id }) => id !== workflowID)
      .map((asset) => ({ key: asset.id, of: typeWords[asset.type].one, link: <ToAsset {...{ tenantID, asset }} /> })),
    ...tables.map((table) => ({ key: table, of: 'Table', link: <ToTable {...{ tenantID, table }} /> })),
  ];
  const close = () => {
    forgetInstalled(workflowID);
    setInstalled(undefined);
  };
  return (
    <Notice tone="ok" role="status" title="Installed">
      <Group component="span" gap="xs" justify="space-between" wrap="nowrap" display="inline-flex">
        <span>
          this workflow, from the template “<bdi>{template}</bdi>”
          {others.map(({ key, of, link }, at) => (
            <Fragment key={key}>
              {at === 0 ? ', and with it: ' : ', '}
              {of.toLowerCase()} {link}
            </Fragment>
          ))}
          . Try it with “Test”.
        </span>
        <CloseButton size="sm" aria-label="Close the note about the installation" onClick={close} />
      </Group>
    </Notice>
  );
}

function ToAsset({ tenantID, asset: { type, id, title } }: { tenantID: string; asset: Installed['assets'][number] }) {
  const name = <bdi>{title}</bdi>;
  const links: Partial<Record<typeof type, ReactNode>> = {
    dataQuery: (
      <Link className="link" to="/t/$tenantID/queries/$dataQueryID" params={{ tenantID, dataQueryID: id }}>
        {name}
      </Link>
    ),
    workflow: (
      <Link className="link" to="/t/$tenantID/workflows/$workflowID" params={{ tenantID, workflowID: id }}>
        {name}
      </Link>
    ),
    datasource: (
      <Link className="link" to="/t/$tenantID/datasources/$datasourceID" params={{ tenantID, datasourceID: id }}>
        {name}
      </Link>
    ),
    listener: (
      <Link className="link" to="/t/$tenantID/listeners/$listenerID" params={{ tenantID, listenerID: id }}>
        {name}
      </Link>
    ),
    cronJob: (
      <Link className="link" to="/t/$tenantID/cron/$cronJobID" params={{ tenantID, cronJobID: id }}>
        {name}
      </Link>
    ),
    variable: (
      <Link className="link" to="/t/$tenantID/settings/variables" params={{ tenantID }}>
        {name}
      </Link>
    ),
  };
  return links[type] ?? name;
}

function ToTable({ tenantID, table }: { tenantID: string; table: string }) {
  return (
    <Link className="link" to="/t/$tenantID/database" params={{ tenantID }} search={{ schema: 'public', table }}>
      <bdi>{table}</bdi>
    </Link>
  );
}
