// The benchmark scenarios a, b and c in ns-3, for the comparison of speed: no pcap, no flow monitor.
//
//   ./bench a 60 1        scenario, simulated seconds (0: set up, then stop), seed
//
// Prints one JSON object. A packet-hop is one completed transmission of one point-to-point device; the counter is one
// increment in a trace callback. A data packet is 1000 bytes of IP; PPP adds 2 bytes on the wire, which is 0.2 %.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <iostream>
#include <string>

using namespace ns3;

namespace
{

uint64_t g_packetHops = 0;

void
CountHop(Ptr<const Packet>)
{
    ++g_packetHops;
}

// What a scenario is built with: one address block after the other, one dice for starts, places and delays.
class Builder
{
  public:
    Builder()
        : m_dice(CreateObject<UniformRandomVariable>())
    {
        m_dice->SetStream(1);
        m_addresses.SetBase("10.0.0.0", "255.255.255.252");
        Ipv4NixVectorHelper nix;
        m_stack.SetRoutingHelper(nix);
        m_stack.SetIpv6StackInstall(false);
    }

    Ptr<Node> MakeNode()
    {
        Ptr<Node> node = CreateObject<Node>();
        m_stack.Install(node);
        return node;
    }

    // A full-duplex link; `queue` is the device queue's size on both sides. No queue discipline.
    NetDeviceContainer Link(Ptr<Node> from, Ptr<Node> to, const std::string& rate, Time delay, const std::string& queue)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue(rate));
        link.SetChannelAttribute("Delay", TimeValue(delay));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(queue));
        NetDeviceContainer devices = link.Install(from, to);
        m_interfaces = m_addresses.Assign(devices);
        m_addresses.NewNetwork();
        TrafficControlHelper().Uninstall(devices);
        return devices;
    }

    // The address of the second end of the last link.
    Ipv4Address FarAddress() const
    {
        return m_interfaces.GetAddress(1);
    }

    double Draw(double low, double high)
    {
        return m_dice->GetValue(low, high);
    }

    uint32_t Pick(uint32_t count)
    {
        return m_dice->GetInteger(0, count - 1);
    }

    void TcpFlow(Ptr<Node> from, Ptr<Node> to, Ipv4Address address)
    {
        const uint16_t port = m_port++;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(to);
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, port));
        source.SetAttribute("SendSize", UintegerValue(kPayload));
        source.Install(from).Start(Seconds(Draw(0, 1)));
    }

    void UdpFlow(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, const std::string& rate)
    {
        const uint16_t port = m_port++;
        PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(to);
        OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(address, port));
        source.SetConstantRate(DataRate(rate), 1000 - 28);
        source.Install(from).Start(Seconds(Draw(0, 1)));
    }

    static constexpr uint32_t kPayload = 1000 - 40;

  private:
    Ptr<UniformRandomVariable> m_dice;
    InternetStackHelper m_stack;
    Ipv4AddressHelper m_addresses;
    Ipv4InterfaceContainer m_interfaces;
    uint16_t m_port = 1000;
};

constexpr const char* kUnlimited = "1000000p";

void
InstallRed(Ptr<NetDevice> device, double minTh, double maxTh, const std::string& limit, double inverseMaxP, double mbps)
{
    Ptr<PointToPointNetDevice> link = DynamicCast<PointToPointNetDevice>(device);
    link->GetQueue()->SetMaxSize(QueueSize("1p"));
    TrafficControlHelper red;
    red.SetRootQueueDisc("ns3::RedQueueDisc",
                         "MinTh", DoubleValue(minTh),
                         "MaxTh", DoubleValue(maxTh),
                         "MaxSize", QueueSizeValue(QueueSize(limit)),
                         "LInterm", DoubleValue(inverseMaxP),
                         "QW", DoubleValue(0.002),
                         "Gentle", BooleanValue(false),
                         "MeanPktSize", UintegerValue(1000),
                         "LinkBandwidth", DataRateValue(DataRate(static_cast<uint64_t>(mbps * 1e6))));
    red.Install(device);
}

void
BuildA(Builder& builder)
{
    Ptr<Node> router = builder.MakeNode();
    Ptr<Node> sink = builder.MakeNode();
    NetDeviceContainer bottleneck = builder.Link(router, sink, "100Mbps", NanoSeconds(550), kUnlimited);
    const Ipv4Address address = builder.FarAddress();
    InstallRed(bottleneck.Get(0), 64, 192, "1024p", 50, 100);
    for (int i = 0; i < 6; ++i)
    {
        Ptr<Node> source = builder.MakeNode();
        builder.Link(source, router, "100Mbps", NanoSeconds(550), kUnlimited);
        if (i < 5)
        {
            builder.TcpFlow(source, sink, address);
        }
        else
        {
            builder.UdpFlow(source, sink, address, "97.2Mbps"); // 100 Mb/s with the headers
        }
    }
}

void
BuildB(Builder& builder)
{
    Ptr<Node> left = builder.MakeNode();
    Ptr<Node> right = builder.MakeNode();
    NetDeviceContainer bottleneck = builder.Link(left, right, "45Mbps", MilliSeconds(10), kUnlimited);
    InstallRed(bottleneck.Get(0), 40, 160, "200p", 10, 45);
    Ptr<Node> sources[5];
    Ptr<Node> sinks[5];
    Ipv4Address addresses[5];
    for (int i = 0; i < 5; ++i)
    {
        sources[i] = builder.MakeNode();
        sinks[i] = builder.MakeNode();
        builder.Link(sources[i], left, "100Mbps", MilliSeconds(10), kUnlimited);
        builder.Link(right, sinks[i], "100Mbps", MilliSeconds(10), kUnlimited);
        addresses[i] = builder.FarAddress();
    }
    for (int i = 0; i < 400; ++i)
    {
        const uint32_t to = builder.Pick(5);
        builder.TcpFlow(sources[builder.Pick(5)], sinks[to], addresses[to]);
    }
    const uint32_t to = builder.Pick(5);
    builder.UdpFlow(sources[builder.Pick(5)], sinks[to], addresses[to], "1.944Mbps"); // 2 Mb/s with the headers
}

void
BuildC(Builder& builder)
{
    Ptr<Node> left = builder.MakeNode();
    Ptr<Node> right = builder.MakeNode();
    NetDeviceContainer core = builder.Link(left, right, "2500Mbps", MilliSeconds(10), kUnlimited);
    DynamicCast<PointToPointNetDevice>(core.Get(0))->GetQueue()->SetMaxSize(QueueSize("100p"));
    for (int i = 0; i < 490; ++i)
    {
        Ptr<Node> source = builder.MakeNode();
        Ptr<Node> sink = builder.MakeNode();
        builder.Link(source, left, "25Mbps", Seconds(builder.Draw(0.0265, 0.0515)), kUnlimited);
        builder.Link(right, sink, "25Mbps", MilliSeconds(1), kUnlimited);
        builder.TcpFlow(source, sink, builder.FarAddress());
    }
}

void
ConfigureTcp()
{
    const uint32_t window = 64 * Builder::kPayload;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(Builder::kPayload));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(3)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 4)
    {
        std::cerr << "usage: bench {a|b|c} SIMULATED_SECONDS SEED\n";
        return 2;
    }
    const std::string scenario = argv[1];
    const double duration = std::stod(argv[2]);
    RngSeedManager::SetSeed(static_cast<uint32_t>(std::stoul(argv[3])));
    ConfigureTcp();
    Builder builder;
    if (scenario == "a")
    {
        BuildA(builder);
    }
    else if (scenario == "b")
    {
        BuildB(builder);
    }
    else
    {
        BuildC(builder);
    }
    Config::ConnectWithoutContext("/NodeList/*/DeviceList/*/$ns3::PointToPointNetDevice/PhyTxEnd", MakeCallback(&CountHop));
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    std::cout << "{\"packet_hops\": " << g_packetHops << ", \"simulated_s\": " << duration << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
