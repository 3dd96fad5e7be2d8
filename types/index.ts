export type { ApiMethods, Callback } from './api-methods.ts'
export type {
  BlobLike,
  BodyChunk,
  BodyFactory,
  BodyInit,
  FormDataLike,
  ReadableStreamLike,
  RequestBody,
} from './body.ts'
export type {
  DodiciChannels,
  FallbackReason,
  PeerGoaway,
  PeerSettings,
  RequestFacts,
  RequestMessage,
  RetryReason,
  SessionFacts,
  SessionMessage,
} from './channels.ts'
export type {
  AgentOptions,
  ClientOptions,
  CoalesceOptions,
  ConnectOptionsWithTarget,
  Connector,
  ConnectorCallback,
  ConnectorOptions,
  ConnectTlsOptions,
  EventSourceOptions,
  FallbackDispatcher,
  H2Options,
  Http2Settings,
  PoolOptions,
  WebSocketOptions,
} from './client.ts'
export type { ConnectionInfo, HttpProtocol, TlsInfo, TransportInfo } from './connection.ts'
export type {
  CloseOptions,
  CodedError,
  ComposedDispatcher,
  Dispatch,
  Dispatcher,
  DispatcherComposeInterceptor,
  DispatcherEvents,
} from './dispatcher.ts'
export type { EngineName } from './engine.ts'
export type { CallErrorFields, Processed } from './errors.ts'
export type { FetchInit, RequestLike } from './fetch.ts'
export type {
  AnyDispatchHandler,
  DispatchController,
  DispatchHandler,
  LegacyDispatchHandler,
  RawHeadersInput,
} from './handler.ts'
export type { IncomingHttpHeaders, RawHeaders, RequestHeaders, RequestHeaderValue } from './headers.ts'
export type { Http1Options } from './http1.ts'
export type { CallLimits } from './limits.ts'
export type {
  EnvHttpProxyAgentOptions,
  ProxyAgentOptions,
  ProxyClientOptions,
  ProxyOptions,
  Socks5ProxyAgentOptions,
} from './proxy.ts'
export type {
  CallSignal,
  ConnectOptions,
  DispatchOptions,
  HeaderForm,
  HttpMethod,
  PipelineOptions,
  QueryPrimitive,
  QueryValue,
  RequestOptions,
  RequestPriority,
  RequestTrailers,
  UpgradeOptions,
} from './request.ts'
export type {
  BodyReadable,
  ConnectData,
  DumpOptions,
  HeadersIn,
  PipelineHandler,
  PipelineHandlerData,
  RawResponseData,
  ResponseData,
  StreamData,
  StreamFactory,
  StreamFactoryData,
  TrailersIn,
  UpgradeData,
} from './response.ts'
export type {
  AgentStats,
  ClientStats,
  EndReason,
  Http1Stats,
  OpenReason,
  PoolStats,
  SessionEnds,
  SessionStats,
} from './stats.ts'
export type {
  ConnectFunction,
  PipelineFunction,
  RequestFunction,
  RequestTarget,
  RequestUrl,
  StreamFunction,
  TopLevelOptions,
  UpgradeFunction,
} from './top-level.ts'
export type {
  DnsOptions,
  UpstreamAnswer,
  UpstreamHealthCheck,
  UpstreamHedge,
  UpstreamInit,
  UpstreamInput,
  UpstreamPoolOptions,
  UpstreamPoolStats,
  UpstreamResolver,
  UpstreamResolverContext,
  UpstreamRetryBudget,
  UpstreamSource,
  UpstreamStats,
} from './upstream.ts'
export type { UpstreamChange } from './upstream-change.ts'
