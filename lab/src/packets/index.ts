export { Clock } from "./clock";
export { type CrossbarRun, CrossbarView, type CrossbarViewProps } from "./crossbar-view";
export { type PacketRun, PacketView, type PacketViewProps } from "./packet-view";
export { PauseView, type PauseViewProps } from "./pause-view";
export { Playback } from "./playback";
