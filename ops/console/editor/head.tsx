import { Button, Menu, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMay } from '../client/may.ts';
import type { Schemas } from '../client/types.ts';
import type { WorkflowIDs } from '../client/workflows.ts';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import { PageTitle } from '../ui/page.tsx';

/** Dialogs that the head of the editor opens. */
export type HeadDialog = 'versions' | 'settings' | 'plan' | 'run' | 'replay' | 'pause' | 'page' | 'open exits';

interface Props {
  ids: WorkflowIDs;
  base: Schemas['Workflow'];
  title: string;
  onTitle: (title: string) => void;
  /** Not everything is saved. */
  isDirty: boolean;
  isSaving: boolean;
  /** Whether listeners start the workflow, whose events it can be tried with. */
  hasEvents: boolean;
  onTest: () => void;
  onSave: (how: { isDraft: boolean }) => void;
  onOpen: (dialog: HeadDialog) => void;
  onResume: () => void;
}

/** The title of a workflow and what is done with it: the usual actions as buttons, the others in a menu. */
export function EditorHead(props: Props) {
  const { ids, base, title, onTitle, isDirty, isSaving, onTest, onSave, onOpen } = props;
  const may = useMay(`workflow:${ids.workflowID}`);
  const mayChange = may('workflow.update');
  return (
    <div className="editor-head">
      <PageTitle
        title={title}
        field={
          mayChange && (
            <TextInput
              aria-label="Title"
              className="title-field"
              value={title}
              onChange={(event) => onTitle(event.currentTarget.value)}
            />
          )
        }
        beside={<State base={base} isDirty={isDirty} />}
      >
        {mayChange && (
          <Button variant="default" title="Settings" onClick={() => onOpen('settings')}>
            <span className="head-icon">
              <Icon name="gear" />
            </span>
            <span className="head-word">Settings</span>
          </Button>
        )}
        <May permission="workflow.test" on="workflow:*">
          <Button variant="default" onClick={onTest}>
            Test
          </Button>
        </May>
        {(base.publishedVersionID || mayChange) && may('workflow.execute') && (
          <Button variant="default" title="Run" onClick={() => onOpen('run')}>
            <Icon name="play" />
            <span className="head-word">&nbsp;Run</span>
          </Button>
        )}
        {mayChange && (
          <>
            <Button variant="default" loading={isSaving} onClick={() => onSave({ isDraft: true })}>
              Save<span className="head-word">&nbsp;draft</span>
            </Button>
            <Button loading={isSaving} onClick={() => onSave({ isDraft: false })}>
              Publish
            </Button>
          </>
        )}
        <More {...props} />
      </PageTitle>
    </div>
  );
}

function More({ ids: { tenantID, workflowID }, base, hasEvents, onOpen, onResume }: Props) {
  const assetID = workflowID;
  const may = useMay(`workflow:${workflowID}`);
  const mayRead = useMay();
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <Button variant="default" title="More">
          <span className="head-more">More&nbsp;&nbsp;</span>
          <Icon name="down" size={14} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {may('workflow.execute') && (
          <Menu.Item onClick={() => onOpen('plan')}>
            Dry run
            <span className="menu-note">What would happen for an input; nothing is done</span>
          </Menu.Item>
        )}
        {hasEvents && mayRead('listener.execute') && (
          <Menu.Item onClick={() => onOpen('replay')}>
            Try with recent events
            <span className="menu-note">The draft, with events that have come; nothing is done again</span>
          </Menu.Item>
        )}
        {!may('workflow.update') && <Menu.Item onClick={() => onOpen('settings')}>Settings</Menu.Item>}
        <Menu.Item onClick={() => onOpen('versions')}>Versions</Menu.Item>
        {mayRead('appPage.create') && (
          <Menu.Item onClick={() => onOpen('page')}>
            Make a page
            <span className="menu-note">
              A form that starts this workflow, for people who may not run it themselves
            </span>
          </Menu.Item>
        )}
        <Menu.Item
          renderRoot={(props) => (
            <Link {...props} to="/t/$tenantID/runs" params={{ tenantID }} search={{ workflowID }} />
          )}
        >
          Runs of this workflow
        </Menu.Item>
        {mayRead('audit.list') && (
          <Menu.Item
            renderRoot={(props) => (
              <Link {...props} to="/t/$tenantID/audit" params={{ tenantID }} search={{ assetID, changes: true }} />
            )}
          >
            Who changed this
          </Menu.Item>
        )}
        {may('workflow.update') &&
          (base.pausedAt ? (
            <Menu.Item onClick={onResume}>Resume</Menu.Item>
          ) : (
            <Menu.Item onClick={() => onOpen('pause')}>
              Pause
              <span className="menu-note">Its runs wait until it is resumed</span>
            </Menu.Item>
          ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function State({ base, isDirty }: { base: Schemas['Workflow']; isDirty: boolean }) {
  const { versionNumber, versionID, publishedVersionID } = base;
  const isPublished = versionID === publishedVersionID;
  return (
    <span role="status" className="status" data-tone={isDirty ? 'wait' : isPublished ? 'ok' : 'idle'}>
      {isDirty ? 'Not saved' : `Version ${versionNumber}, ${isPublished ? 'published' : 'a draft'}`}
    </span>
  );
}
