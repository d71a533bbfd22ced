import { render } from "preact";
import "./app/styles/base.css";
import "./app/styles/tables.css";
import { App } from "./app/shell";

const root = document.getElementById("lab");
if (root) {
  render(<App />, root);
}
