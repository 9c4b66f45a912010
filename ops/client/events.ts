/** Written by `npm run openapi` from ops/asyncapi.json. */
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The error of a sub-workflow, or of an item, that led to another */
        ErrorCause: {
            code: string;
            message: string;
            nodeID?: string | null;
            frame?: components["schemas"]["Frame"];
            attempt?: number | null;
            /**
             * Format: uuid
             * @description The run that has failed, if it is another one
             */
            instanceID?: string;
            /** @description Such as `line` and `column` of code, or the `status` of an answer */
            details?: {
                [key: string]: components["schemas"]["Json"];
            };
            /** @description What led to this, in the same form */
            cause?: {
                [key: string]: components["schemas"]["Json"];
            };
        };
        /** @description The iterations around a node, outermost first; empty outside of loops */
        Frame: components["schemas"]["Iteration"][];
        Iteration: {
            nodeID: string;
            iteration: number;
        };
        /**
         * Json
         * @description Any JSON value
         */
        Json: unknown;
        /** @description How many items of a map have ended; `failed` of them have failed */
        MapProgress: {
            done: number;
            total: number;
            failed: number;
        };
        /**
         * @example {
         *       "notificationID": "01990d3e-5c00-7a10-8000-000000000035",
         *       "userID": "01990d3e-5c00-7a10-8000-000000000002",
         *       "tenantID": "01990d3e-5c00-7a10-8000-000000000001",
         *       "kind": "collectionRequest",
         *       "title": "Your approval is awaited",
         *       "description": "Refunds: Refund of order 7",
         *       "subjectID": "01990d3e-5c00-7a10-8000-00000000000a",
         *       "actionType": "link",
         *       "action": "../tenants/01990d3e-5c00-7a10-8000-000000000001/workflows/data-collection/01990d3e-5c00-7a10-8000-00000000000a",
         *       "actionText": "Answer",
         *       "notifierID": null,
         *       "readAt": null,
         *       "createdAt": "2026-03-05T14:05:12.480Z"
         *     }
         */
        Notification: {
            /** Format: uuid */
            notificationID: string;
            /** Format: uuid */
            userID: string;
            /** Format: uuid */
            tenantID: string;
            /** @enum {string} */
            kind: "collectionRequest" | "cronJobStopped" | "listenerStopped" | "tenantJoined" | "toolApproval" | "connectionStopped" | "connectionNotRevoked";
            title: string;
            description: string | null;
            /** @description The request, cron job, listener, tenant, call of a tool or OAuth connection */
            subjectID: string | null;
            /** @constant */
            actionType: "link";
            /** @description A path, from the address of the admin UI */
            action: string;
            actionText: string;
            /** @description `user_<id>`, or null: the service itself */
            notifierID: string | null;
            readAt: string | null;
            /** Format: date-time */
            createdAt: string;
        };
        asset_changed: {
            /** Format: uuid */
            tenantID: string;
            /** @enum {string} */
            entity: "workflow" | "dataQuery" | "datasource" | "cronJob" | "listener" | "widget" | "dashboard" | "appPage" | "folder" | "role" | "apiKey" | "variable";
            /** @description Null with `many`: the list is to be read again */
            id: string | null;
            /** @enum {string} */
            action: "created" | "updated" | "deleted" | "many";
            /** @description Of an asset with versions, after the change */
            version: number | null;
            /** @description The user; null: the service itself, several users, or not known */
            changedBy: string | null;
            /** Format: date-time */
            at: string;
        };
        failure: {
            /** @constant */
            success: false;
            error: {
                code: string;
                message: string;
                /** @description For errors of the service: it is in the log, too */
                requestID?: string;
            };
        };
        fleet_tenant_update: {
            /** Format: uuid */
            tenantID: string;
        } & {
            [key: string]: unknown;
        };
        fleet_update: {
            [key: string]: unknown;
        };
        import_job_update: {
            /** Format: uuid */
            userID: string;
            /** Format: uuid */
            tenantID: string;
            /** Format: uuid */
            jobID: string;
            /** @enum {string} */
            kind: "import" | "rollback";
            /** @enum {string} */
            status: "RUNNING" | "COMPLETED" | "FAILED";
            done: number;
            total: number | null;
        };
        /** @description `tenant:<tenantID>`, `listener_test:<listenerID>` or `listener:app_page:<appPageID>`; to leave, also a run */
        join_room: string;
        join_room_answer: {
            /** @constant */
            success: true;
            room: string;
        };
        /** @description `tenant:<tenantID>`, `listener_test:<listenerID>` or `listener:app_page:<appPageID>`; to leave, also a run */
        leave_room: string;
        leave_room_answer: {
            /** @constant */
            success: true;
            room: string;
        };
        listener_event: {
            /** Format: uuid */
            listenerID: string;
            /** Format: uuid */
            eventID: string;
            channelName: string;
            data: components["schemas"]["Json"];
            /** @constant */
            dataOmitted?: true;
            /** @enum {string} */
            mode: "replace" | "append";
            limit: number;
            timestamp: number;
        };
        listener_test_event: {
            /** Format: uuid */
            listenerID: string;
            rawEvent: components["schemas"]["Json"];
            transformedEvent: components["schemas"]["Json"];
            transformError: string | null;
            /** @constant */
            dataOmitted?: true;
            timestamp: number;
        };
        notification: components["schemas"]["Notification"];
        permissions_changed: {
            /** Format: uuid */
            tenantID: string;
        };
        widget_context_update: {
            widgetID: string;
            /** Format: uuid */
            instanceID: string;
            seq: number;
            /** @constant */
            more?: true;
            update: {
                /** @constant */
                type: "NODE_COMPLETE";
                nodeID: string;
                nodeType: string;
                iteration: number;
                frame: components["schemas"]["Frame"];
                outputVariable: string | null;
                value: components["schemas"]["Json"];
                /** @constant */
                valueOmitted?: true;
                /** @enum {string} */
                status: "SUCCESS" | "FAILED";
                contextSnapshot: {
                    [key: string]: components["schemas"]["Json"];
                } | null;
                contextOmitted?: string[];
            };
            /** Format: date-time */
            timestamp: string;
        };
        widget_input_received: {
            widgetID: string;
            /** Format: uuid */
            instanceID: string;
            inputType: string;
            /** @constant */
            success: true;
        };
        widget_refresh: {
            /** @description The id of a widget, or its key on a page: `widget_<id>_<suffix>` */
            widgetID: string;
            /** @description The inputs of the run */
            inputParams?: {
                [key: string]: components["schemas"]["Json"];
            };
            /** @description Another name for `inputParams` */
            inputValues?: {
                [key: string]: components["schemas"]["Json"];
            };
            /** Format: uuid */
            tenantID?: string;
            /** @description A repeated event with the same key has no second effect: its answer is that to the first */
            idempotencyKey?: string;
        };
        widget_refresh_answer: {
            /** @constant */
            success: true;
            widgetID: string;
            /** Format: uuid */
            instanceID: string;
            /** @enum {string} */
            status: "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";
            /** @description Of the run now. Events up to it that the client lacks are sent after this answer */
            seq: number;
        };
        widget_send_input: {
            /** @description The id of a widget, or its key on a page: `widget_<id>_<suffix>` */
            widgetID: string;
            /**
             * Format: uuid
             * @description By default the run to which the widget is connected
             */
            instanceID?: string;
            /** @description `form_submit`, `filter_change`, `action`, or another word */
            inputType: string;
            /** @default null */
            data?: components["schemas"]["Json"];
            /** @description A repeated event with the same key has no second effect: its answer is that to the first */
            idempotencyKey?: string;
        };
        widget_send_input_answer: {
            /** @constant */
            success: true;
            widgetID: string;
            /** Format: uuid */
            instanceID: string;
            inputType: string;
            /** Format: uuid */
            eventID: string;
            /** @description 1 if a node of the run waited for it. 0: it is remembered for an hour */
            reached: number;
        };
        widget_workflow_connect: {
            /** @description The id of a widget, or its key on a page: `widget_<id>_<suffix>` */
            widgetID: string;
            /**
             * @description `execute` starts a run, `subscribe` attaches to a run, `replay` tells once what a run has come to
             * @default execute
             * @enum {string}
             */
            mode?: "execute" | "subscribe" | "replay";
            /**
             * Format: uuid
             * @description To execute
             */
            workflowID?: string;
            /**
             * Format: uuid
             * @description To subscribe to, or to replay
             */
            instanceID?: string;
            /** @description The inputs of the run */
            inputParams?: {
                [key: string]: components["schemas"]["Json"];
            };
            /** @description Another name for `inputParams` */
            inputValues?: {
                [key: string]: components["schemas"]["Json"];
            };
            /**
             * Format: uuid
             * @description If it is given, the workflow or the run must be of this tenant
             */
            tenantID?: string;
            /**
             * Format: uuid
             * @description To execute, with `workflowAlias`, what an app page binds
             */
            appPageID?: string;
            workflowAlias?: string;
            /** @description Absent: a run that is subscribed to is told from now on */
            lastSeq?: number;
            /** @description A repeated event with the same key has no second effect: its answer is that to the first */
            idempotencyKey?: string;
            /** @description Taken, and not used */
            widgetType?: unknown;
            /** @description Taken, and not used */
            widgetConfig?: unknown;
            /** @description Taken, and not used */
            workflowConfig?: unknown;
        };
        widget_workflow_connect_answer: {
            /** @constant */
            success: true;
            widgetID: string;
            /** Format: uuid */
            instanceID: string;
            /** @enum {string} */
            status: "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";
            /** @description Of the run now. Events up to it that the client lacks are sent after this answer */
            seq: number;
        };
        widget_workflow_connected: {
            widgetID: string;
            /** Format: uuid */
            instanceID: string;
            workflowID: string | null;
            /** @enum {string} */
            mode: "execute" | "subscribe" | "replay";
            initialContext: {
                [key: string]: components["schemas"]["Json"];
            } | null;
            contextOmitted?: string[];
            workflowMeta: {
                /** @enum {string} */
                status: "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";
            } | null;
            /** @enum {string} */
            workflowStatus?: "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";
            seq: number;
        };
        widget_workflow_disconnect: {
            /** @description The id of a widget, or its key on a page: `widget_<id>_<suffix>` */
            widgetID: string;
        };
        widget_workflow_disconnect_answer: {
            /** @constant */
            success: true;
            widgetID: string;
        };
        widget_workflow_disconnected: {
            widgetID: string;
            /** @constant */
            success: true;
        };
        widget_workflow_error: {
            widgetID: string | null;
            error: {
                /** @enum {string} */
                code: "CONNECTION_FAILED" | "INPUT_FAILED" | "REFRESH_FAILED";
                message: string;
                reason: string;
                recoverable: boolean;
            };
            /** Format: date-time */
            timestamp: string;
        };
        widget_workflow_status: {
            widgetID: string;
            /** Format: uuid */
            instanceID: string;
            seq: number;
            /** @constant */
            more?: true;
            /** @enum {string} */
            status: "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";
            finalContext: {
                [key: string]: components["schemas"]["Json"];
            } | null;
            contextOmitted?: string[];
            output: components["schemas"]["Json"];
            outputOmitted?: boolean;
            error: {
                code: string;
                message: string;
                /** @description Such as `line` and `column` of code, or the `status` of an answer */
                details?: {
                    [key: string]: components["schemas"]["Json"];
                };
                cause?: components["schemas"]["ErrorCause"];
                nodeID: string | null;
                attempt: number | null;
                /** @description The iterations around the node */
                frame?: components["schemas"]["Frame"];
            } | null;
            waiting?: {
                /** @enum {string} */
                reason: "delay" | "input" | "event" | "child";
                /** Format: date-time */
                until?: string;
                /** Format: uuid */
                collectionRequestID?: string;
            };
            /** Format: date-time */
            timestamp: string;
        };
        workflow_data_collection_changed: {
            /** Format: uuid */
            tenantID: string;
            /** @description Null: so many have changed that the list is to be read again */
            collectionRequestID: string | null;
            instanceID: string | null;
            /** @description Null also for a run of a graph that was not saved */
            workflowID: string | null;
            status: ("PENDING" | "COMPLETED" | "EXPIRED" | "CANCELLED") | null;
            /** Format: date-time */
            at: string;
        };
        workflow_data_collection_reminder: {
            /** Format: uuid */
            instanceID: string;
            nodeID: string;
            iteration: number;
            frame: components["schemas"]["Frame"];
            /** Format: uuid */
            collectionRequestID: string;
            title: string | null;
            answerURL: string | null;
            number: number;
            of: number;
        };
        workflow_data_collection_request: {
            /** Format: uuid */
            instanceID: string;
            seq: number;
            /** @constant */
            more?: true;
            nodeID: string;
            iteration: number;
            frame: components["schemas"]["Frame"];
            /** Format: uuid */
            collectionRequestID: string;
            collectionType: string;
            collectionConfig: {
                [key: string]: components["schemas"]["Json"];
            };
        };
        workflow_intake_update: {
            /** Format: uuid */
            tenantID: string;
            /** @description Null: the intake of the whole tenant */
            workflowID: string | null;
            pausedAt: string | null;
        };
        workflow_log: {
            /** Format: uuid */
            instanceID: string;
            seq: number;
            /** @constant */
            more?: true;
            nodeID: string;
            iteration: number;
            frame: components["schemas"]["Frame"];
            attempt: number;
            /** @enum {string} */
            level: "debug" | "info" | "warn" | "error";
            message: string;
            data?: components["schemas"]["Json"];
            /** Format: date-time */
            at: string;
        };
        workflow_node_update: {
            /** Format: uuid */
            instanceID: string;
            seq: number;
            /** @constant */
            more?: true;
            nodeID: string;
            iteration: number;
            frame: components["schemas"]["Frame"];
            attempt: number;
            /** @enum {string} */
            status: "RUNNING" | "SUCCESS" | "FAILED" | "SUSPENDED" | "SKIPPED" | "CANCELLED";
            exit: string | null;
            output: components["schemas"]["Json"];
            outputOmitted?: boolean;
            error: {
                code: string;
                message: string;
                /** @description Such as `line` and `column` of code, or the `status` of an answer */
                details?: {
                    [key: string]: components["schemas"]["Json"];
                };
                cause?: components["schemas"]["ErrorCause"];
            } | null;
            /** Format: uuid */
            reusedFrom?: string;
            isPinned?: boolean;
            refusedWrite?: string;
            progress?: components["schemas"]["MapProgress"];
            /** Format: date-time */
            at: string;
        };
        workflow_run_changed: {
            /** Format: uuid */
            tenantID: string;
            /** @description Null: so many have changed that the list is to be read again */
            instanceID: string | null;
            /** @description Null also for a run of a graph that was not saved */
            workflowID: string | null;
            status: ("PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED") | null;
            errorCode: string | null;
            /** Format: date-time */
            at: string;
        };
        workflow_run_join: {
            /** Format: uuid */
            instanceID?: string;
            /** Format: uuid */
            runId?: string;
            /**
             * @description The events after this number are sent: that of the last one the client has
             * @default 0
             */
            lastSeq?: number;
        };
        workflow_run_join_answer: {
            /** @constant */
            success: true;
            /** Format: uuid */
            instanceID: string;
            /** @enum {string} */
            status: "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";
            seq: number;
        };
        workflow_status_update: {
            /** Format: uuid */
            instanceID: string;
            seq: number;
            /** @constant */
            more?: true;
            /** @enum {string} */
            status: "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";
            output: components["schemas"]["Json"];
            outputOmitted?: boolean;
            error: {
                code: string;
                message: string;
                /** @description Such as `line` and `column` of code, or the `status` of an answer */
                details?: {
                    [key: string]: components["schemas"]["Json"];
                };
                cause?: components["schemas"]["ErrorCause"];
                nodeID: string | null;
                attempt: number | null;
                /** @description The iterations around the node */
                frame?: components["schemas"]["Frame"];
            } | null;
            waiting?: {
                /** @enum {string} */
                reason: "delay" | "input" | "event" | "child";
                /** Format: date-time */
                until?: string;
                /** Format: uuid */
                collectionRequestID?: string;
            };
            /** Format: date-time */
            at: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;

/** What the server sends, by its event. */
export interface ServerEvents {
    workflow_node_update: (message: components["schemas"]["workflow_node_update"]) => void;
    workflow_status_update: (message: components["schemas"]["workflow_status_update"]) => void;
    workflow_data_collection_request: (message: components["schemas"]["workflow_data_collection_request"]) => void;
    workflow_log: (message: components["schemas"]["workflow_log"]) => void;
    asset_changed: (message: components["schemas"]["asset_changed"]) => void;
    workflow_run_changed: (message: components["schemas"]["workflow_run_changed"]) => void;
    workflow_data_collection_changed: (message: components["schemas"]["workflow_data_collection_changed"]) => void;
    permissions_changed: (message: components["schemas"]["permissions_changed"]) => void;
    notification: (message: components["schemas"]["notification"]) => void;
    import_job_update: (message: components["schemas"]["import_job_update"]) => void;
    workflow_data_collection_reminder: (message: components["schemas"]["workflow_data_collection_reminder"]) => void;
    workflow_intake_update: (message: components["schemas"]["workflow_intake_update"]) => void;
    listener_event: (message: components["schemas"]["listener_event"]) => void;
    listener_test_event: (message: components["schemas"]["listener_test_event"]) => void;
    widget_workflow_connected: (message: components["schemas"]["widget_workflow_connected"]) => void;
    widget_context_update: (message: components["schemas"]["widget_context_update"]) => void;
    widget_workflow_status: (message: components["schemas"]["widget_workflow_status"]) => void;
    widget_workflow_error: (message: components["schemas"]["widget_workflow_error"]) => void;
    widget_input_received: (message: components["schemas"]["widget_input_received"]) => void;
    widget_workflow_disconnected: (message: components["schemas"]["widget_workflow_disconnected"]) => void;
    fleet_update: (message: components["schemas"]["fleet_update"]) => void;
    fleet_tenant_update: (message: components["schemas"]["fleet_tenant_update"]) => void;
}

/** What a client sends, with the acknowledgement that it may ask for. */
export interface ClientEvents {
    workflow_run_join: (message: components["schemas"]["workflow_run_join"], answered?: (answer: components["schemas"]["workflow_run_join_answer"] | components["schemas"]["failure"]) => void) => void;
    join_room: (message: components["schemas"]["join_room"], answered?: (answer: components["schemas"]["join_room_answer"] | components["schemas"]["failure"]) => void) => void;
    leave_room: (message: components["schemas"]["leave_room"], answered?: (answer: components["schemas"]["leave_room_answer"] | components["schemas"]["failure"]) => void) => void;
    widget_workflow_connect: (message: components["schemas"]["widget_workflow_connect"], answered?: (answer: components["schemas"]["widget_workflow_connect_answer"] | components["schemas"]["failure"]) => void) => void;
    widget_send_input: (message: components["schemas"]["widget_send_input"], answered?: (answer: components["schemas"]["widget_send_input_answer"] | components["schemas"]["failure"]) => void) => void;
    widget_refresh: (message: components["schemas"]["widget_refresh"], answered?: (answer: components["schemas"]["widget_refresh_answer"] | components["schemas"]["failure"]) => void) => void;
    widget_workflow_disconnect: (message: components["schemas"]["widget_workflow_disconnect"], answered?: (answer: components["schemas"]["widget_workflow_disconnect_answer"] | components["schemas"]["failure"]) => void) => void;
}
